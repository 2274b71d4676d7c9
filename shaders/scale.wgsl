// x = x · factor, in place.
const WORKGROUP = 64u;

struct Args {
  quads: u32,  // quads of columns of a row
  factor: f32,
}

@group(0) @binding(0) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < args.quads) {
    x[id.y * args.quads + id.x] *= args.factor;
  }
}
