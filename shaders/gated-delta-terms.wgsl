// Scalars of the gated delta rule, which gated-delta.wgsl applies to the state. A chunk is CHUNK tokens of a sequence, cut at multiples
// of CHUNK of its positions. With decay rates g (logarithms), learning rates β, queries q and keys k of length 1, and the state S
// before the chunk, row i of a chunk writes u(i) = β(i)·(v(i) - D(i)·Sᵀk(i)) - Σ M(i, j)·u(j) for j < i, where D(i) is the decay since
// the chunk's beginning and M(i, j) = β(i)·(k(i)·k(j))·(decay from j to i). It reads D(i)·Sᵀq(i) + Σ A(i, j)·u(j) for j ≤ i, where
// A(i, j) = (q(i)·k(j))·(decay from j to i). After its last row S becomes F·S + Σ E(j)·k(j)·u(j)ᵀ, with the decays F since the chunk's
// beginning and E(j) since row j. All sums are those of a row's chunk, however the rows are divided into steps. A workgroup per row
// and key head.
#import "lib/batch.wgsl"
#import "lib/softplus.wgsl"

const CHUNK = 8u;
const TERMS = 2u + CHUNK + CHUNK / 2u;
const LANES = 32u;
const EPS = 1e-6;

struct Args {
  key_heads: u32,
  heads: u32,        // value heads
  tiled: u32,        // 1: value head h reads key head h mod key_heads; 0: consecutive value heads share one
  key_quads: u32,    // quads of a key head
  value_quads: u32,
  qkv_quads: u32,    // quads from one row of qkv to the next
  gate_stride: u32,  // values from one row of gates to the next
  gate_run: u32,     // gates alternate: so many β, then as many decays
  terms: u32,        // pairs from one row of terms to the next
  scale: f32,        // factor on queries
  logarithms: u32,   // 1: rates are log(-rate)
  state_stride: u32, // quads of a slot
  kept_first: u32,   // quads of a slot before the rows of the chunk that earlier steps began
  kept_quads: u32,   // quads of such a row
}

@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // queries of all key heads, keys of all, values
@group(0) @binding(1) var<storage, read> gates: array<f32>;
@group(0) @binding(2) var<storage, read> rates: array<f32>; // [heads]
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read> offsets: array<f32>; // [heads], added to decays
@group(0) @binding(5) var<storage, read> sequences: array<Sequence>;
@group(0) @binding(6) var<storage, read> rows: array<Row>;
// [rows][heads][TERMS]: (β·D, β), (D, F) of the queries' and keys' own lengths, then (A(i, j), M(i, j)) by j, then E(j) by j in the last
// row of a chunk.
@group(0) @binding(7) var<storage, read_write> terms: array<vec2f>;
@group(0) @binding(8) var<storage, read> states: array<vec4f>;

// q(i)·k(j), k(i)·k(j), k(j)·k(j), q(i)·q(i)
var<workgroup> sums: array<vec4f, CHUNK * LANES>;
var<workgroup> products: array<vec4f, CHUNK>;

// The chunk that a row belongs to: its first rows may be in the slot.
struct Chunk {
  own: u32,  // index of the row
  kept: u32, // rows in the slot
  first: u32, // the row behind those
  slot: u32, // quads before the slot
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let key_head = workgroup.x;
  let row = workgroup.y;
  let sequence = sequences[rows[row].sequence];
  let token = row - sequence.first_row;
  let own = (sequence.cached + token) % CHUNK;
  let kept = own - min(own, token);
  let chunk = Chunk(own, kept, row - (own - kept), sequence.slot * args.state_stride);

  let quads = key_head * args.key_quads;
  let keys = args.key_heads * args.key_quads + quads;
  var mine = array<vec4f, CHUNK>();
  for (var quad = local; quad < args.key_quads; quad += LANES) {
    let q = qkv[row * args.qkv_quads + quads + quad];
    let k = qkv[row * args.qkv_quads + keys + quad];
    for (var j = 0u; j <= own; j++) {
      var other: vec4f;
      if (j < kept) {
        other = states[chunk.slot + args.kept_first + j * args.kept_quads + quads + quad];
      } else {
        other = qkv[(chunk.first + j - kept) * args.qkv_quads + keys + quad];
      }
      mine[j] += vec4f(dot(q, other), dot(k, other), dot(other, other), dot(q, q));
    }
  }
  for (var j = 0u; j <= own; j++) {
    sums[j * LANES + local] = mine[j];
  }
  workgroupBarrier();
  if (local <= own) {
    var sum = vec4f(0.0);
    for (var lane = 0u; lane < LANES; lane++) {
      sum += sums[local * LANES + lane];
    }
    products[local] = sum;
  }
  workgroupBarrier();

  let share = args.heads / args.key_heads;
  let query_norm = args.scale * inverseSqrt(products[own].w + EPS);
  let key_norm = inverseSqrt(products[own].z + EPS);
  for (var item = local; item < share * (own + 1u); item += LANES) {
    let nth = item / (own + 1u);
    let j = item % (own + 1u);
    let head = select(key_head * share + nth, nth * args.key_heads + key_head, args.tiled == 1u);
    let beta = 1.0 / (1.0 + exp(min(-gates[gate_at(row, head)], 80.0)));
    let other_norm = inverseSqrt(products[j].z + EPS);
    let since = exp(decay(chunk, j + 1u, head));
    let at = row * args.terms + head * TERMS;
    terms[at + 2u + j] = vec2f(query_norm, beta * key_norm) * (since * other_norm) * products[j].xy;
    if (j == own) {
      let whole = exp(decay(chunk, 0u, head));
      terms[at] = vec2f(beta * key_norm * whole, beta);
      terms[at + 1u] = vec2f(query_norm * whole, whole);
    }
    if (own + 1u == CHUNK && j % 2u == 0u) {
      let next = other_norm_of(j + 1u) * exp(decay(chunk, j + 2u, head));
      terms[at + 2u + CHUNK + j / 2u] = vec2f(since * other_norm, next);
    }
  }
}

fn other_norm_of(j: u32) -> f32 {
  return inverseSqrt(products[j].z + EPS);
}

// Logarithm of the decay over the rows of a chunk from `first` to its own.
fn decay(chunk: Chunk, first: u32, head: u32) -> f32 {
  let stored = rates[head];
  let rate = select(stored, -exp(stored), args.logarithms == 1u);
  var sum = 0.0;
  for (var i = first; i <= chunk.own; i++) {
    var gate: f32;
    if (i < chunk.kept) {
      let values = args.key_heads * args.key_quads + args.heads * args.value_quads;
      gate = states[chunk.slot + args.kept_first + i * args.kept_quads + values + head / 4u][head % 4u];
    } else {
      gate = gates[gate_at(chunk.first + i - chunk.kept, head) + args.gate_run];
    }
    sum += rate * softplus(gate + offsets[head]);
  }
  return sum;
}

fn gate_at(row: u32, head: u32) -> u32 {
  return row * args.gate_stride + head / args.gate_run * 2u * args.gate_run + head % args.gate_run;
}
