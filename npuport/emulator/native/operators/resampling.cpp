// Resampling of images: nearest, linear, cubic, and by a grid, with gradients. A scale of zero or less was not given:
// the sizes say it.
#include "calling_convention.h"

namespace {
std::optional<double> scale(double value) { return value > 0 ? std::optional<double>(value) : std::nullopt; }
}  // namespace

// ---- nearest -------------------------------------------------------------------------------------------------------
OPERATOR(UpsampleNearest1dV2, (Tensor input, IntList output_size, float scale_width, Tensor out), {
  at::upsample_nearest1d_out(out, input, output_size, scale(scale_width));
})
OPERATOR(UpsampleNearest1dBackward, (Tensor gradient, IntList output_size, IntList input_size, double scale_width, Tensor out), {
  write(out, at::upsample_nearest1d_backward(gradient, output_size, input_size, scale(scale_width)));
})
OPERATOR(UpsampleNearest2dV2, (Tensor input, IntList output_size, float scale_height, float scale_width, Tensor out), {
  write(out, at::upsample_nearest2d(input, output_size, scale(scale_height), scale(scale_width)));
})
OPERATOR(UpsampleNearest2dBackward, (Tensor gradient, IntList output_size, IntList input_size, double scale_height,
                                     double scale_width, Tensor out), {
  write(out, at::upsample_nearest2d_backward(gradient, output_size, input_size, scale(scale_height), scale(scale_width)));
})
OPERATOR(UpsampleNearestExact2d, (Tensor input, IntList output_size, double scale_height, double scale_width, Tensor out), {
  write(out, at::_upsample_nearest_exact2d(input, output_size, scale(scale_height), scale(scale_width)));
})
OPERATOR(UpsampleNearestExact2dBackward, (Tensor gradient, IntList output_size, IntList input_size, double scale_height,
                                          double scale_width, Tensor out), {
  write(out, at::_upsample_nearest_exact2d_backward(gradient, output_size, input_size, scale(scale_height), scale(scale_width)));
})

// ---- linear and cubic ----------------------------------------------------------------------------------------------
OPERATOR(UpsampleLinear1d, (Tensor input, IntList output_size, bool align_corners, double scale_width, Tensor out), {
  write(out, at::upsample_linear1d(input, output_size, align_corners, scale(scale_width)));
})
OPERATOR(UpsampleLinear1dBackward, (Tensor gradient, IntList output_size, IntList input_size, bool align_corners,
                                    double scale_width, Tensor out), {
  write(out, at::upsample_linear1d_backward(gradient, output_size, input_size, align_corners, scale(scale_width)));
})
OPERATOR(UpsampleBilinear2d, (Tensor input, IntList output_size, bool align_corners, double scale_height,
                              double scale_width, Tensor out), {
  write(out, at::upsample_bilinear2d(input, output_size, align_corners, scale(scale_height), scale(scale_width)));
})
OPERATOR(UpsampleBilinear2dBackwardV2, (Tensor gradient, IntList output_size, IntList input_size, bool align_corners,
                                        double scale_height, double scale_width, Tensor out), {
  write(out, at::upsample_bilinear2d_backward(gradient, output_size, input_size, align_corners, scale(scale_height),
                                              scale(scale_width)));
})
OPERATOR(UpsampleBicubic2d, (Tensor input, IntList output_size, bool align_corners, double scale_height,
                             double scale_width, Tensor out), {
  write(out, at::upsample_bicubic2d(input, output_size, align_corners, scale(scale_height), scale(scale_width)));
})
OPERATOR(UpsampleBicubic2dBackward, (Tensor gradient, IntList output_size, IntList input_size, bool align_corners,
                                     double scale_height, double scale_width, Tensor out), {
  write(out, at::upsample_bicubic2d_backward(gradient, output_size, input_size, align_corners, scale(scale_height),
                                             scale(scale_width)));
})

// ---- by a grid of positions ----------------------------------------------------------------------------------------
OPERATOR(GridSampler2D, (Tensor input, Tensor grid, int64_t interpolation, int64_t padding, bool align_corners, Tensor out), {
  write(out, at::grid_sampler_2d(input, grid, interpolation, padding, align_corners));
})
OPERATOR(GridSampler2DBackward, (Tensor gradient, Tensor input, Tensor grid, int64_t interpolation, int64_t padding,
                                 bool align_corners, BoolList wanted, Tensor input_gradient, Tensor grid_gradient), {
  auto [for_input, for_grid] = at::grid_sampler_2d_backward(gradient, input, grid, interpolation, padding, align_corners,
                                                            {wanted.at(0), wanted.at(1)});
  if (wanted[0]) write(input_gradient, for_input);
  write(grid_gradient, for_grid);
})
OPERATOR(AffineGrid, (Tensor transformation, IntList size, bool align_corners, Tensor out), {
  write(out, at::affine_grid_generator(transformation, size, align_corners));
})
