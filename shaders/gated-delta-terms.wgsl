// Scalars of the gated delta rule, which gated-delta.wgsl applies to the state. A chunk is up to CHUNK rows of a sequence, cut at
// multiples of CHUNK of its positions. With decay rates g (logarithms), learning rates β, queries q and keys k of length 1, and the
// state S before the chunk, row i of a chunk writes u(i) = β(i)·(v(i) - D(i)·Sᵀk(i)) - Σ M(i, j)·u(j) for j < i, where D(i) is the
// decay since the chunk's beginning and M(i, j) = β(i)·(k(i)·k(j))·(decay from j to i). It reads D(i)·Sᵀq(i) + Σ A(i, j)·u(j) for
// j ≤ i, where A(i, j) = (q(i)·k(j))·(decay from j to i). A workgroup per row and key head.
#import "lib/batch.wgsl"

const CHUNK = 8u;
const LANES = 32u;
const EPS = 1e-6;

struct Args {
  key_heads: u32,
  heads: u32,       // value heads
  tiled: u32,       // 1: value head h reads key head h mod key_heads; 0: consecutive value heads share one
  key_quads: u32,   // quads of a key head
  qkv_quads: u32,   // quads from one row of qkv to the next
  gate_stride: u32, // values from one row of gates to the next
  gate_run: u32,    // gates alternate: so many β, then as many decays
  terms: u32,       // pairs from one row of terms to the next
  scale: f32,       // factor on queries
  logarithms: u32,  // 1: rates are log(-rate)
}

@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // queries of all key heads, keys of all, values
@group(0) @binding(1) var<storage, read> gates: array<f32>;
@group(0) @binding(2) var<storage, read> rates: array<f32>; // [heads]
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read> offsets: array<f32>; // [heads], added to decays
@group(0) @binding(5) var<storage, read> sequences: array<Sequence>;
@group(0) @binding(6) var<storage, read> rows: array<Row>;
// [rows][heads][2 + CHUNK]: (factor of Sᵀk, β), (factor of Sᵀq, factor of k in the state), then (A(i, j), M(i, j)) by j. M(i, i) is the
// decay of the whole chunk.
@group(0) @binding(7) var<storage, read_write> terms: array<vec2f>;

// q(i)·k(j), k(i)·k(j), k(j)·k(j), q(i)·q(i)
var<workgroup> sums: array<vec4f, CHUNK * LANES>;
var<workgroup> products: array<vec4f, CHUNK>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let key_head = workgroup.x;
  let row = workgroup.y;
  let sequence = sequences[rows[row].sequence];
  let token = row - sequence.first_row;
  let own = min((sequence.cached + token) % CHUNK, token); // index of the row in its chunk
  let first = row - own;
  let ahead = min(CHUNK - (sequence.cached + token) % CHUNK, sequence.rows - token) - 1u; // rows of the chunk behind it

  let queries = key_head * args.key_quads;
  let keys = (args.key_heads + key_head) * args.key_quads;
  var mine = array<vec4f, CHUNK>();
  for (var quad = local; quad < args.key_quads; quad += LANES) {
    let q = qkv[row * args.qkv_quads + queries + quad];
    let k = qkv[row * args.qkv_quads + keys + quad];
    for (var j = 0u; j <= own; j++) {
      let other = qkv[(first + j) * args.qkv_quads + keys + quad];
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
    let beta = rate_of_learning(row, head);
    let faded = exp(decay(first + j + 1u, row + 1u, head));
    let other_norm = inverseSqrt(products[j].z + EPS);
    let at = row * args.terms + head * (2u + CHUNK);
    if (j == own) {
      let since = decay(first, row + 1u, head);
      let rest = decay(row + 1u, row + 1u + ahead, head);
      terms[at] = vec2f(beta * key_norm * exp(since), beta);
      terms[at + 1u] = vec2f(query_norm * exp(since), key_norm * exp(rest));
      terms[at + 2u + j] = vec2f(query_norm * key_norm * products[j].x, exp(since + rest));
    } else {
      let norms = vec2f(query_norm, beta * key_norm) * other_norm;
      terms[at + 2u + j] = faded * norms * products[j].xy;
    }
  }
}

fn rate_of_learning(row: u32, head: u32) -> f32 {
  return 1.0 / (1.0 + exp(min(-gates[gate_at(row, head)], 80.0)));
}

// Logarithm of the decay over rows `first` to `end` - 1.
fn decay(first: u32, end: u32, head: u32) -> f32 {
  let stored = rates[head];
  let rate = select(stored, -exp(stored), args.logarithms == 1u);
  var sum = 0.0;
  for (var row = first; row < end; row++) {
    sum += rate * softplus(gates[gate_at(row, head) + args.gate_run] + offsets[head]);
  }
  return sum;
}

fn gate_at(row: u32, head: u32) -> u32 {
  return row * args.gate_stride + head / args.gate_run * 2u * args.gate_run + head % args.gate_run;
}

// log(1 + exp(x)); far below zero by the series of log(1 + t), because 1 + t loses t.
fn softplus(x: f32) -> f32 {
  let t = exp(-abs(x));
  return max(x, 0.0) + select(log(1.0 + t), t * (1.0 - t * (0.5 - t / 3.0)), t < 0.01);
}
