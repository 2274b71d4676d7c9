// Counts the scales of blocks of codes, as a file holds them, that are NaN or infinite, by the bits.
#import "lib/stored-bytes.wgsl"

struct Args {
  blocks: u32,
  bytes: u32,     // of a block
  first: u32,     // byte of the block's first scale
  second: u32,    // of its second; the first where there is one
  limit: u32,     // bits of the smallest magnitude that no scale has
  width: u32,     // bits of a magnitude
  each: u32,      // blocks of a workgroup
  tensor: u32,    // whose counters these are
}

@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>; // [tensor][non-finite, oversize, any but zero]

const IN_PARTS = false; // whether four bits of a scale stand in each of four 16

fn scale_bits(at: u32) -> u32 {
  if (!IN_PARTS) {
    return half_at(at);
  }
  var bits = 0u;
  for (var i = 0u; i < 4u; i++) {
    bits |= (half_at(at + 2u * i) >> 12u) << (4u * i);
  }
  return bits;
}

fn is_bad(at: u32) -> bool {
  return (scale_bits(at) & ((1u << args.width) - 1u)) >= args.limit;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let end = min((workgroup.x + 1u) * args.each, args.blocks);
  var bad = 0u;
  for (var i = workgroup.x * args.each + local; i < end; i += 64u) {
    let at = i * args.bytes;
    bad += u32(is_bad(at + args.first)) + u32(args.second != args.first && is_bad(at + args.second));
  }
  if (bad > 0u) {
    atomicAdd(&counts[3u * args.tensor], bad);
  }
}
