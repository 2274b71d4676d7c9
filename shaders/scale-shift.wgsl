// y = scale · activation(before · x) + shift, with zeros in the columns that pad a row.
#import "lib/activate.$ACTIVATION.wgsl"
alias Activated = vec4f;

const WORKGROUP = 64u;

struct Args {
  quads: u32,     // quads of columns per row
  columns: u32,
  all_quads: u32, // quads of all rows
  before: f32,
  scale: f32,
  shift: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    let v = args.scale * activate(args.before * x[i]) + args.shift;
    let column = vec4u(4u * (i % args.quads)) + vec4u(0u, 1u, 2u, 3u);
    y[i] = select(vec4f(0.0), v, column < vec4u(args.columns));
  }
}
