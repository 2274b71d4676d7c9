// Counts invalid weights in the words of a checkpoint's tensor as stored in the file: values that are NaN or infinite, and finite
// ones that are too large to compute with; and records whether any value is not zero. Compares bits instead of floats, because WGSL
// may assume that no float is NaN or infinite.
const PAIRS = false; // whether a word holds two 16-bit values
const MAGNITUDE = select(0x7fffffffu, 0x7fffu, PAIRS);
const BUT_SIGNS = select(0x7fffffffu, 0x7fff7fffu, PAIRS);

struct Args {
  quads: u32,     // quads of words in `raw`
  infinity: u32,  // bit pattern of infinity
  oversize: u32,  // bit pattern of the smallest magnitude that is too large
  each: u32,      // consecutive quads per workgroup
  tensor: u32,    // index of the tensor's counters
}

@group(0) @binding(0) var<storage, read> raw: array<vec4u>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>; // [tensor][non-finite, oversize, non-zero]

// Number of values in four words whose magnitude is at least `limit`.
fn reaching(words: vec4u, limit: u32) -> u32 {
  var found = select(vec4u(0u), vec4u(1u), (words & vec4u(MAGNITUDE)) >= vec4u(limit));
  if (PAIRS) {
    found += select(vec4u(0u), vec4u(1u), ((words >> vec4u(16u)) & vec4u(MAGNITUDE)) >= vec4u(limit));
  }
  return found.x + found.y + found.z + found.w;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let end = min((workgroup.x + 1u) * args.each, args.quads);
  var not_finite = 0u;
  var reached = 0u;
  var all = vec4u(0u);
  for (var i = workgroup.x * args.each + local; i < end; i += 64u) {
    let words = raw[i];
    all |= words;
    not_finite += reaching(words, args.infinity);
    reached += reaching(words, args.oversize);
  }
  let first = 3u * args.tensor;
  if (reached > 0u) {
    atomicAdd(&counts[first], not_finite);
    atomicAdd(&counts[first + 1u], reached - not_finite);
  }
  let is_zero = ((all.x | all.y | all.z | all.w) & BUT_SIGNS) == 0u;
  if (!is_zero && atomicLoad(&counts[first + 2u]) == 0u) {
    atomicStore(&counts[first + 2u], 1u);
  }
}
