// The largest logit of a row, from those of its parts (the kernel declares `parts`).
#import "lib/best.wgsl"
#import "lib/row-parts.wgsl"

// With the lowest of its tokens; the same for every invocation.
fn largest_of(row: u32, local: u32) -> Best {
  var best = Best(NEVER, NONE);
  for (var part = local; part < PARTS; part += WORKGROUP) {
    let one = parts[row * PARTS + part];
    best = better(best, Best(one.value, one.token));
  }
  return best_of(best, local);
}
