// Reduces over the eight lanes by halving, because CPU drivers execute subgroupMax and subgroupAdd lane by lane.
fn largest_of_lanes(value: f32) -> f32 {
  let two = max(value, subgroupShuffleXor(value, 1u));
  let four = max(two, subgroupShuffleXor(two, 2u));
  return max(four, subgroupShuffleXor(four, 4u));
}

fn sum_of_lanes(value: f32) -> f32 {
  let two = value + subgroupShuffleXor(value, 1u);
  let four = two + subgroupShuffleXor(two, 2u);
  return four + subgroupShuffleXor(four, 4u);
}
