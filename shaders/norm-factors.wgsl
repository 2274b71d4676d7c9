// The factor of normalized images in f16, by what a norm's results cannot exceed: `root` is the largest magnitude of a value divided by the
// deviation of the values with which it is normalized. An activation after the norm makes no magnitude larger. One workgroup an image, all alike.
#import "lib/largest-magnitude.wgsl"
#import "lib/half-factors.wgsl"
#import "lib/channel-weight.$WEIGHT.wgsl"
#import "lib/channel-bias.$BIAS.wgsl"

struct Args {
  quads: u32, // quads of channels
  root: f32,
}

@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec2f>; // [image]: the factor and the one that undoes it; 16 apart

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  var most = vec4f(0.0);
  for (var quad = local; quad < args.quads; quad += LANES) {
    most = max(most, args.root * abs(weighted(vec4f(1.0), quad)) + abs(biased(vec4f(0.0), quad)));
  }
  let largest = largest_of(largest_part(most), local);
  if (local < 16u) {
    y[workgroup.x * 16u + local] = select(vec2f(0.0), half_factors(largest), local == 0u);
  }
}
