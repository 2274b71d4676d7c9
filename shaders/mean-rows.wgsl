// y[i] = mean of count_i rows of x from first_i on; an invocation per quad, rows added in order.
const WORKGROUP = 32u;

struct Args {
  quads: u32, // quads of a row
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> ranges: array<vec2u>; // (first row, number of rows)
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let quad = id.x;
  let item = id.y;
  if (quad >= args.quads) {
    return;
  }
  let range = ranges[item];
  var sum = vec4f(0.0);
  for (var row = 0u; row < range.y; row++) {
    sum += x[(range.x + row) * args.quads + quad];
  }
  y[item * args.quads + quad] = sum / f32(max(range.y, 1u));
}
