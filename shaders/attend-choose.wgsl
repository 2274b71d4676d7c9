// Which blocks of keys a block of queries sees: those whose mean key has the largest scores for the mean query, and its own. A workgroup per block
// of queries, head and item.
const LANES = 128u;
const MOST_BLOCKS = 2048u; // of keys

struct Args {
  heads: u32,
  share: u32,      // query heads per key head
  head_quads: u32,
  q_blocks: u32,
  k_blocks: u32,
  q_quads: u32,    // quads from one row of q to the next
  k_quads: u32,
  kept: u32,       // blocks that are seen
  words: u32,      // from one block of queries to the next
}

@group(0) @binding(0) var<storage, read> q: array<vec4f>; // [item, block, columns]: means
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<u32>; // [item, head, block of queries, word]: a bit for each block of keys

var<workgroup> scores: array<f32, MOST_BLOCKS>;
var<workgroup> seen: array<atomic<u32>, MOST_BLOCKS / 32u>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let own = workgroup.x;
  let head = workgroup.y;
  let item = workgroup.z;
  let q0 = (item * args.q_blocks + own) * args.q_quads + head * args.head_quads;
  let k0 = item * args.k_blocks * args.k_quads + head / args.share * args.head_quads;
  for (var word = local; word < MOST_BLOCKS / 32u; word += LANES) {
    atomicStore(&seen[word], 0u);
  }
  for (var block = local; block < args.k_blocks; block += LANES) {
    var sum = vec4f(0.0);
    for (var quad = 0u; quad < args.head_quads; quad++) {
      sum = fma(q[q0 + quad], k[k0 + block * args.k_quads + quad], sum);
    }
    scores[block] = (sum.x + sum.y) + (sum.z + sum.w);
  }
  workgroupBarrier();
  for (var block = local; block < args.k_blocks; block += LANES) {
    if (block == own || is_kept(block)) {
      atomicOr(&seen[block / 32u], 1u << (block % 32u));
    }
  }
  workgroupBarrier();
  let y0 = ((item * args.heads + head) * args.q_blocks + own) * args.words;
  for (var word = local; word < args.words; word += LANES) {
    y[y0 + word] = atomicLoad(&seen[word]);
  }
}

// Whether fewer blocks than are kept come before this one; of equal scores the first comes first.
fn is_kept(block: u32) -> bool {
  let score = scores[block];
  var before = 0u;
  for (var i = 0u; i < args.k_blocks; i++) {
    before += u32(scores[i] > score || (scores[i] == score && i < block));
  }
  return before < args.kept;
}
