// The state of linear attention: for each head Σ relu(k) · vᵀ and Σ relu(k) over a chunk of an item's tokens. A lane computes a block of
// 4 × 4 products, and sums its tokens in their order.
const WORKGROUP = 64u;

struct Args {
  heads: u32,
  dim_quads: u32,   // quads of a head's dimensions
  tokens: u32,      // tokens of an item
  chunk: u32,       // tokens of a chunk
  chunks: u32,      // chunks of an item
  first_item: u32,
  first_chunk: u32,
  first: u32,       // tokens of each item [first, last) that are bound
  last: u32,
  k_row: u32,       // row of the binding that holds token 0 of item 0, modulo 2³²
  k_quads: u32,     // quads from one row to the next
  k_first: u32,     // first quad of the first head
  k_head: u32,      // quads from one head to the next
  v_row: u32,
  v_quads: u32,
  v_first: u32,
  v_head: u32,
  state_quads: u32, // quads from one row of the state to the next
}

@group(0) @binding(0) var<storage, read> k: array<vec4f>;
@group(0) @binding(1) var<storage, read> v: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> state: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let blocks = args.dim_quads * args.dim_quads;
  let head = id.x / blocks;
  if (head >= args.heads) {
    return;
  }
  let quad = id.x % args.dim_quads; // quad of v
  let of_k = id.x % blocks / args.dim_quads;
  let item = args.first_item + id.z;
  let chunk = args.first_chunk + id.y;
  let begins = chunk * args.chunk;
  // Rows of a head: one for each dimension of k, then the sum of k.
  let rows = 4u * args.dim_quads + 1u;
  let own = ((item * args.chunks + chunk) * args.heads + head) * rows;
  let at = (own + 4u * of_k) * args.state_quads + quad;
  let sum_at = (own + rows - 1u) * args.state_quads + of_k;
  var sums = array<vec4f, 4>();
  var total = vec4f(0.0);
  if (args.first > begins) { // an earlier dispatch summed the chunk's first tokens
    for (var i = 0u; i < 4u; i++) {
      sums[i] = state[at + i * args.state_quads];
    }
    total = state[sum_at];
  }
  for (var token = max(begins, args.first); token < min(begins + args.chunk, args.last); token++) {
    let row = item * args.tokens + token;
    let key = max(k[(row + args.k_row) * args.k_quads + args.k_first + head * args.k_head + of_k], vec4f(0.0));
    let value = v[(row + args.v_row) * args.v_quads + args.v_first + head * args.v_head + quad];
    for (var i = 0u; i < 4u; i++) {
      sums[i] += key[i] * value;
    }
    total += key;
  }
  for (var i = 0u; i < 4u; i++) {
    state[at + i * args.state_quads] = sums[i];
  }
  if (quad == 0u) {
    state[sum_at] = total;
  }
}
