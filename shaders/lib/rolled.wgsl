// The first index of short loops that should stay loops. Mesa unrolls a loop whose iterations it can count, and its software driver then compiles
// the kernel many times as long if the iterations store, branch or have barriers.
const ROLLED = false;

// 0; if ROLLED, in a way that drivers cannot know. `workgroup` is a member of workgroup_id, below 65536.
fn loop_start(workgroup: u32) -> u32 {
  return select(0u, workgroup >> 16u, ROLLED);
}
