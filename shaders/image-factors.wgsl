// The factor of each image in f16 by the largest magnitudes of its slabs: the second pass after image-largest.wgsl. One workgroup an image.
#import "lib/largest-magnitude.wgsl"
#import "lib/half-factors.wgsl"

struct Args {
  slabs: u32,    // slabs of an image
  x_stride: u32, // numbers from one image of x to the next
}

@group(0) @binding(0) var<storage, read> x: array<f32>; // [image][slab]
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec2f>; // [image]: the factor and the one that undoes it; 16 apart

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  var most = 0.0;
  for (var slab = local; slab < args.slabs; slab += LANES) {
    most = max(most, x[workgroup.x * args.x_stride + slab]);
  }
  let largest = largest_of(most, local);
  if (local < 16u) {
    y[workgroup.x * 16u + local] = select(vec2f(0.0), half_factors(largest), local == 0u);
  }
}
