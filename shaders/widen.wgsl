// Widens values of a checkpoint's vector to f32, placed unit by unit like the rows of pack.wgsl.
#import "sources/$SOURCE.wgsl"

struct Args {
  skip: u32,        // values of `raw` to skip
  step: u32,        // values of `raw` from one that is read to the next
  size: u32,
  unit: u32,        // consecutive values of one unit
  unit_stride: u32, // values from the beginning of one unit to that of the next
  first: u32,
  plus: f32,        // number that is added to each value
}

@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let i = id.y * workgroups.x * 64u + id.x;
  if (i < args.size) {
    y[args.first + i / args.unit * args.unit_stride + i % args.unit] = element(args.skip + i * args.step) + args.plus;
  }
}
