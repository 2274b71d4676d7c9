// Where short loops begin. Mesa unrolls loops whose turns it can count, and its software driver then compiles many times as long if they store,
// branch or wait.
const ROLLED = false;

// 0; if ROLLED, in a way that drivers cannot know. `workgroup` is a member of workgroup_id, below 65536.
fn loop_start(workgroup: u32) -> u32 {
  return select(0u, workgroup >> 16u, ROLLED);
}
