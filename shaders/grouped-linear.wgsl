// A matrix of blocks on its diagonal: each group of columns of y is a product of the columns of x at the same place. A lane computes four
// columns of RUN rows.
const WORKGROUP = 64u;
const RUN = 8u;

struct Args {
  group_quads: u32,  // quads of columns in a group
  weight_quads: u32, // quads from one row of the weight to the next
  quads: u32,        // quads of columns that hold values
  row_quads: u32,    // quads from one row of x and of y to the next
  first: u32,        // rows [first, last)
  last: u32,
  x_first: u32,      // rows before the binding
  y_first: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let quad = id.x;
  if (quad >= args.row_quads) {
    return;
  }
  let group = quad / args.group_quads * args.group_quads; // first quad of the group
  let runs = (args.last - args.first + RUN - 1u) / RUN;
  for (var run = id.y; run < runs; run += workgroups.y) {
    let begins = args.first + run * RUN;
    let count = min(RUN, args.last - begins);
    var sums = array<vec4f, RUN>();
    if (quad < args.quads) {
      for (var i = 0u; i < args.group_quads; i++) {
        let at = 4u * quad * args.weight_quads + i;
        let w = array(
          weight[at],
          weight[at + args.weight_quads],
          weight[at + 2u * args.weight_quads],
          weight[at + 3u * args.weight_quads],
        );
        for (var p = 0u; p < count; p++) {
          let v = x[(begins + p - args.x_first) * args.row_quads + group + i];
          sums[p] += vec4f(dot(w[0], v), dot(w[1], v), dot(w[2], v), dot(w[3], v));
        }
      }
    }
    for (var p = 0u; p < count; p++) {
      y[(begins + p - args.y_first) * args.row_quads + quad] = sums[p];
    }
  }
}
