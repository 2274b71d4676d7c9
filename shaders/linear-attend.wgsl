// Linear attention by a state: y = relu(q) · state / (relu(q) · Σ relu(k) + eps). A lane computes four columns of RUN tokens.
const WORKGROUP = 64u;
const RUN = 4u;

struct Args {
  heads: u32,
  dim_quads: u32,   // quads of a head's dimensions
  tokens: u32,      // tokens of an item
  first_item: u32,
  first: u32,       // tokens of each item [first, last) that are bound
  last: u32,
  q_row: u32,       // row of the binding that holds token 0 of item 0, modulo 2³²
  q_quads: u32,     // quads from one row to the next
  q_first: u32,     // first quad of the first head
  q_head: u32,      // quads from one head to the next
  y_row: u32,
  y_quads: u32,
  state_quads: u32, // quads from one row of the state to the next
  eps: f32,
}

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> state: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  if (id.x >= args.y_quads) {
    return;
  }
  let head = id.x / args.dim_quads;
  let quad = id.x % args.dim_quads;
  let item = args.first_item + id.z;
  let rows = 4u * args.dim_quads + 1u;
  let own = (item * args.heads + head) * rows;
  let runs = (args.last - args.first + RUN - 1u) / RUN;
  for (var run = id.y; run < runs; run += workgroups.y) {
    let token = args.first + run * RUN;
    let count = min(RUN, args.last - token);
    let row = item * args.tokens + token;
    var sums = array<vec4f, RUN>();
    if (head < args.heads) {
      var totals = array<f32, RUN>();
      for (var i = 0u; i < args.dim_quads; i++) {
        let at = (own + 4u * i) * args.state_quads + quad;
        let s = array(
          state[at],
          state[at + args.state_quads],
          state[at + 2u * args.state_quads],
          state[at + 3u * args.state_quads],
        );
        let keys = state[(own + rows - 1u) * args.state_quads + i];
        for (var p = 0u; p < count; p++) {
          let query = max(q[(row + p + args.q_row) * args.q_quads + args.q_first + head * args.q_head + i], vec4f(0.0));
          sums[p] += query.x * s[0] + query.y * s[1] + query.z * s[2] + query.w * s[3];
          totals[p] += dot(query, keys);
        }
      }
      for (var p = 0u; p < count; p++) {
        sums[p] /= totals[p] + args.eps;
      }
    }
    for (var p = 0u; p < count; p++) {
      y[(row + p + args.y_row) * args.y_quads + id.x] = sums[p];
    }
  }
}
