// Logits of a class (the kernel declares `logits` and `args`).
#import "lib/classes.wgsl"

const BLOCK = 4u * WORKGROUP; // tokens of a class that a workgroup holds at a time

// Number of a class's tokens.
fn class_length(class_number: u32) -> u32 {
  return (args.vocabulary + CLASSES - 1u - class_number) / CLASSES;
}

// Logits of four consecutive tokens of a class; beyond its end masked.
fn four_of(row0: u32, class_number: u32, first: u32, length: u32) -> vec4f {
  let at = first + vec4u(0u, 1u, 2u, 3u);
  let own = row0 + min(class_number + CLASSES * at, vec4u(args.vocabulary - 1u));
  let read = vec4f(logits[own.x], logits[own.y], logits[own.z], logits[own.w]);
  return select(vec4f(MASKED), read, at < vec4u(length));
}
