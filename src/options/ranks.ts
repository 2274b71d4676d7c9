// The settings by which several devices compute the results of one model.

import { rowsWith } from './setting.ts';

const GROUP = 'Parallelism';

/** Degrees of parallelism that are left out follow from the others. */
export const RANKS = rowsWith(
  { models: ['image'] },
  {
    numGpus: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs used, each with weights of its own.',
      flag: { group: GROUP, otherwise: '1' },
    },
    dpSize: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'Replicas that draw different results, those of a prompt and of several prompts.',
      flag: { group: GROUP, otherwise: '1', aliases: ['data-parallel-size', 'dp'] },
    },
    dpDegree: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs of a replica; 1 leaves it to the other options.',
      flag: { group: GROUP, otherwise: 'the GPUs divided by the replicas' },
    },
    enableCfgParallel: {
      kind: { type: 'boolean' },
      help: 'The passes for the prompt and for the negative prompt on two GPUs, at the same time.',
      flag: {
        group: GROUP,
        otherwise: 'on where the GPUs can be divided so and the model is guided by default',
      },
    },
    cfgParallelSize: {
      kind: { type: 'integer', min: 1, max: 2 },
      help: 'GPUs for these passes: 1 or 2; decides over --enable-cfg-parallel.',
      flag: { group: GROUP, otherwise: '2 with --enable-cfg-parallel, else 1' },
    },
    tpSize: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs among which the matrices of the denoiser are divided: heads of attention, and columns of the feed-forward parts.',
      flag: { group: GROUP, otherwise: '1' },
    },
    spDegree: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs among which the tokens of a result are divided, in FLUX.1, FLUX.2 and Chroma.',
      flag: { group: GROUP, otherwise: 'what the other options leave of --num-gpus' },
    },
    kvGatherDegree: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs of --sp-degree that gather the keys and values of all tokens in every block, while each keeps its own queries.',
      flag: { group: GROUP, otherwise: '2 where --sp-degree is 2' },
    },
    logicalRanks: {
      kind: { type: 'boolean' },
      help: 'Where there are fewer GPUs than --num-gpus, devices share one, in the same time and more memory; for tests and plans.',
      flag: { group: GROUP, otherwise: 'false' },
    },
  },
);
