// y = columns of x in another order.
const WORKGROUP = 64u;

struct Args {
  quads: u32,  // quads of columns of a row of y
  stride: u32, // values from one row of x to the next
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> order: array<vec4u>; // the column of x for each column of y
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= args.quads) {
    return;
  }
  let row = id.y * args.stride;
  let columns = order[id.x];
  y[id.y * args.quads + id.x] = vec4f(x[row + columns.x], x[row + columns.y], x[row + columns.z], x[row + columns.w]);
}
