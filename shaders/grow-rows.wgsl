// x = x · growth of the row by its position, in place.
#import "lib/growth.steps.wgsl"

const WORKGROUP = 64u;

struct Args {
  quads: u32,         // quads of columns of a row of x
  first_row: u32,     // rows of the step before those of x
  growth: f32,        // beta of the growth
  growth_first: u32,  // added to positions
  growth_length: u32, // tokens after which rows grow
}

@group(0) @binding(0) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < args.quads) {
    x[id.y * args.quads + id.x] *= growth_of(args.first_row + id.y);
  }
}
