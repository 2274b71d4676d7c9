// Products of experts of which some are in slots on the device and the others in host memory: the host reads which experts a step's rows have
// chosen, brings those that are missing into slots, and the plan of tiles names slots instead of experts. Where a step needs more experts
// than there are slots, the products are computed in several rounds, each of the tiles of some experts. Every tile is computed once and
// rows are summed behind the last round, so that the sums are those of experts that are all on the device.

import type { Round } from '../gpu/replay.ts';
import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { ExpertPlan } from './expert-plan.ts';
import type { ExpertSlots, Matrix } from './matrix.ts';

const WORKGROUP = 64;
/** The expert of a tile without rows, and the slot of an expert that is in none. */
export const IDLE = 0xffffffff;

/** Computes products of a plan's tiles; `matrices`: those that `record` multiplies by, whose experts share slots or are all on the device. */
export function withSlots(
  plan: ExpertPlan,
  [first, ...others]: readonly [Matrix, ...Matrix[]],
  record: (plan: ExpertPlan) => Tensor,
): Tensor {
  const { slots } = first;
  if (others.some((other) => other.slots !== slots))
    throw new Error(`${first.name}: matrices of the same experts have slots of their own`);
  if (slots === null) return record(plan);
  const bring = (bytes: ArrayBuffer): readonly Round[] => slots.bring(chosenExperts(plan, bytes));
  return tapeOf(plan.plan).repeat({ from: plan.plan, plan: bring }, () =>
    record({ ...plan, plan: slottedPlan(plan, slots, first.experts) }),
  );
}

/** The experts of a plan's tiles, in its order, each once. */
function chosenExperts({ tileRows, tiles }: ExpertPlan, bytes: ArrayBuffer): number[] {
  const words = new Uint32Array(bytes);
  const chosen = new Set<number>();
  for (let tile = 0; tile < tiles; tile++) chosen.add(words[tile * (tileRows + 1)]!);
  chosen.delete(IDLE);
  return [...chosen];
}

function slottedPlan(
  { plan, tileRows, tilesOf }: ExpertPlan,
  { table }: ExpertSlots,
  experts: number,
): Tensor {
  const tape = tapeOf(plan);
  const slotted = tape.tensor(plan.shape, 'u32');
  const words = tilesOf(tape.capacity) * (tileRows + 1);
  tape.dispatch('expert-slots.wgsl', {
    args: { tile_words: tileRows + 1, words, experts },
    bind: { plan, slots: table, slotted },
    groups: (sizes) => [Math.ceil((tilesOf(sizes) * (tileRows + 1)) / WORKGROUP)],
  });
  return slotted;
}
