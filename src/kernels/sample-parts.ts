// Draws one token per row of logits with many workgroups a row, for GPUs. The tokens are those that sample.wgsl draws with 64 invocations:
// its sums of weights are made in the same order, for many possible cuts at once.

import { tapeOf } from '../gpu/tape.ts';
import type { Groups } from '../gpu/dispatch.ts';
import type { Sizes, Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

/** Members of a batch that sampling reads and writes. */
export type SampledBatch = Pick<TextBatch, 'choices' | 'biases' | 'counts' | 'sampled' | 'ids'>;

/** Parts of consecutive tokens, and classes of tokens by their number modulo CLASSES; a workgroup each. See lib/owned.part.wgsl and lib/classes.wgsl. */
const PARTS = 64;
const CLASSES = 64;
/** Probes of sample-search.wgsl, and its passes, each of which divides a bracket of keys by them: keys have 32 bits. */
const PROBES = 32;
const PASSES = Math.ceil(32 / Math.log2(PROBES));
/** Bins of lib/bins.wgsl. */
const BINS = 256;
/** Words of Part, Drawn and Bracket in lib/row-parts.wgsl, and of a pair of sums. */
const PART_WORDS = 3;
const DRAWN_WORDS = 6;
const BRACKET_WORDS = 6;
const PAIR_WORDS = 2;

/**
 * logits [sampled, vocabulary] → batch.ids and batch.sampled. If the sizes of a replay have `drawn` or `cut`, dispatches for rows above
 * temperature 0, and for rows that top-k or top-p cut, are skipped where that size is 0.
 */
export function sampleInParts(logits: Tensor, batch: SampledBatch): void {
  const { choices, biases, counts, sampled, ids } = batch;
  const tape = tapeOf(logits);
  const { profile, capabilities } = tape.device;
  const lanes = Math.min(profile.sampleWorkgroup, capabilities.maxInvocations);
  const rest = {
    params: { WORKGROUP: lanes },
    args: { vocabulary: logits.columns, stride: logits.stride },
  };
  const rows = logits.shape.slice(0, -1);
  const scratch = (words: number): Tensor => tape.tensor([...rows, words], 'u32');
  const groupsIf =
    (name: 'cut' | 'drawn', workgroups: number) =>
    (sizes: Sizes): Groups => [sizes[name] === 0 ? 0 : workgroups, logits.rows(sizes)];

  const parts = scratch(PARTS * PART_WORDS);
  const bins = scratch(BINS * PAIR_WORDS);
  tape.dispatch('sample-parts.wgsl', {
    ...rest,
    bind: { logits, choices, biases, sampled, counts, parts, bins },
    groups: (sizes) => [PARTS, logits.rows(sizes)],
  });

  const totals = scratch(CLASSES);
  tape.dispatch('sample-bins.wgsl', {
    ...rest,
    bind: { logits, choices, parts, bins, totals },
    groups: groupsIf('cut', CLASSES),
  });
  const brackets = scratch(BRACKET_WORDS);
  const once = { ...rest, args: { vocabulary: logits.columns } };
  const oneIfCut = (sizes: Sizes): Groups => [sizes['cut'] === 0 ? 0 : logits.rows(sizes)];
  tape.dispatch('sample-bracket.wgsl', {
    ...once,
    bind: { choices, parts, bins, totals, brackets },
    groups: oneIfCut,
  });
  const lists = scratch(CLASSES * lanes * PAIR_WORDS);
  const lengths = scratch(CLASSES);
  tape.dispatch('sample-hold.wgsl', {
    ...rest,
    bind: { logits, choices, parts, brackets, lists, lengths },
    groups: groupsIf('cut', CLASSES),
  });
  tape.dispatch('sample-cut.wgsl', {
    ...once,
    bind: { choices, lists, lengths, brackets },
    groups: oneIfCut,
  });
  const cuts = searchCuts({ logits, choices, parts, brackets }, lanes);

  const drawn = scratch(PARTS * DRAWN_WORDS);
  tape.dispatch('sample-draw.wgsl', {
    ...rest,
    bind: { logits, choices, parts, cuts, drawn },
    groups: groupsIf('drawn', PARTS),
  });
  tape.dispatch('sample-pick.wgsl', {
    ...rest,
    bind: { logits, choices, parts, cuts, drawn, sampled, ids },
    groups: (sizes) => [logits.rows(sizes)],
  });
}

/** The cuts of rows with too many tokens above them for lists; those that are known pass through. u32 [sampled, BRACKET_WORDS] */
function searchCuts(
  {
    logits,
    brackets,
    ...read
  }: { logits: Tensor; brackets: Tensor; parts: Tensor; choices: SampledBatch['choices'] },
  lanes: number,
): Tensor {
  const tape = tapeOf(logits);
  const { choices } = read;
  const params = { WORKGROUP: lanes };
  const args = { vocabulary: logits.columns, classes: CLASSES };
  const scratch = (words: number): Tensor => tape.tensor([...logits.shape.slice(0, -1), words], 'u32');
  const ifCut = (sizes: Sizes, workgroups: number): number => (sizes['cut'] === 0 ? 0 : workgroups);
  let wide = brackets;
  let counted = scratch(CLASSES * PROBES * PAIR_WORDS);
  for (let pass = 0; pass < PASSES; pass++) {
    const next = { brackets: scratch(BRACKET_WORDS), sums: scratch(CLASSES * PROBES * PAIR_WORDS) };
    tape.dispatch('sample-search.wgsl', {
      params,
      args: { ...args, stride: logits.stride, narrows: Math.min(pass, 1) },
      bind: { logits, ...read, wide, counted, ...next },
      groups: (sizes) => [ifCut(sizes, CLASSES), logits.rows(sizes)],
    });
    [wide, counted] = [next.brackets, next.sums];
  }
  const cuts = scratch(BRACKET_WORDS);
  tape.dispatch('sample-narrow.wgsl', {
    params,
    args,
    bind: { choices, wide, counted, brackets: cuts },
    groups: (sizes) => [ifCut(sizes, logits.rows(sizes))],
  });
  return cuts;
}
