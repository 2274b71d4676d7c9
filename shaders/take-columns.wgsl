// Some columns of each row, from a quad on.
const WORKGROUP = 64u;

struct Args {
  columns: u32,
  quads: u32,     // quads of a row of y
  stride: u32,    // quads from one row of x to the next
  first: u32,     // the first of the quads in x
  all_quads: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += workgroups.x * WORKGROUP) {
    let quad = i % args.quads;
    var value = vec4f(0.0);
    if (4u * quad < args.columns) {
      value = x[i / args.quads * args.stride + args.first + quad];
    }
    y[i] = select(vec4f(0.0), value, vec4u(4u * quad) + vec4u(0u, 1u, 2u, 3u) < vec4u(args.columns));
  }
}
