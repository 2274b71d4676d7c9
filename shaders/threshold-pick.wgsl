// Between the passes of threshold-count.wgsl: selects the bin with the value of the wanted rank, and clears the bins. FIRST: begins
// a selection. One workgroup.
const FIRST = false;
const WORKGROUP = 64u;
const BINS = 256u;

struct Args {
  rank: u32, // number of values below the wanted one; read if FIRST
}

@group(0) @binding(0) var<uniform> args: Args;
// [0] bits found, [1] rank among the values that begin with them, [2] number of those values, [3] bits of the next larger value, [4
// …] the bins
@group(0) @binding(1) var<storage, read_write> found: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  if (local == 0u) {
    var rank = args.rank;
    var bits = 0u;
    var count = 0u;
    if (!FIRST) {
      rank = found[1];
      var bin = 0u;
      while (bin < BINS - 1u && rank >= found[4u + bin]) {
        rank -= found[4u + bin];
        bin++;
      }
      bits = (found[0] << 8u) | bin;
      count = found[4u + bin];
    }
    found[0] = bits;
    found[1] = rank;
    found[2] = count;
    found[3] = 0xffffffffu;
  }
  storageBarrier();
  for (var bin = local; bin < BINS; bin += WORKGROUP) {
    found[4u + bin] = 0u;
  }
}
