// The member `options` of Ollama's requests: its own table of options, converted to fields of a chat completion.

import { z } from 'zod';
import { bodyChecker } from '../body/body.ts';
import { type FieldTable, honoured, neutralOnly, noEffect, show, withoutMissing } from '../body/fields.ts';
import { SAMPLING } from '../../options/text-request.ts';
import { chatNames, fieldsOf, sharedFields } from '../body/setting-fields.ts';
import { type Renames, underNames } from '../body/renamed.ts';

const predicted = z.int().refine((count) => count >= 1 || count === -1 || count === -2, {
  error: ({ input }) =>
    `must be at least 1, got ${show(input)}; send -1 or -2 for all that the context holds`,
});

const SHARED = fieldsOf(SAMPLING, 'ollama');

const OPTION_FIELDS = {
  ...SHARED,
  repeat_penalty: {
    ...SHARED.repeat_penalty,
    help: `${SHARED.repeat_penalty.help.slice(0, -1)}; of the whole reply.`,
  },
  seed: honoured(z.int(), 'The same seed gives the same text; -1 draws one.', -1),
  num_predict: honoured(
    predicted,
    'Most tokens to generate; -1 and -2: all that the context holds. Clamped to that.',
    -1,
  ),

  repeat_last_n: neutralOnly('How far back repeat_penalty looks: here always over the whole reply.', -1, 64),
  typical_p: neutralOnly('Locally typical sampling.', 1),
  tfs_z: neutralOnly('Tail-free sampling.', 1),
  mirostat: neutralOnly('Mirostat sampling.', 0),
  penalize_newline: neutralOnly('Whether line breaks are penalised; they are.', true),

  mirostat_tau: noEffect('Goes with mirostat.'),
  mirostat_eta: noEffect('Goes with mirostat.'),
  num_ctx: noEffect('Length of the context: that of the server, from --context-length.'),
  num_keep: noEffect('What to keep of a prompt that is cut; none is.'),
  num_batch: noEffect('Tokens of a step: from --prefill-chunk.'),
  num_gpu: noEffect('Layers on the GPU: all.'),
  main_gpu: noEffect('Which GPU: the one the server was started on.'),
  num_thread: noEffect('Threads of the CPU.'),
  numa: noEffect('Placement in memory.'),
  low_vram: noEffect('Placement in memory: from --memory-budget.'),
  f16_kv: noEffect('Kind of the cache.'),
  logits_all: noEffect('Logits of all tokens.'),
  vocab_only: noEffect('Load no weights.'),
  use_mmap: noEffect('How weights are read.'),
  use_mlock: noEffect('How weights are held.'),
  embedding_only: noEffect('What is loaded.'),
} satisfies FieldTable;

/**
 * Schema of `options` in a body: kinds and bounds are checked with the other fields; `toSampling` refuses options that are not
 * built.
 */
export const optionsSchema = z.looseObject(
  Object.fromEntries(
    Object.entries(OPTION_FIELDS).map(([name, { schema, help, status }]) => [
      name,
      schema.nullish().meta({ description: help, 'x-svc-status': status }),
    ]),
  ),
);

const checkOptions = bodyChecker({ fields: OPTION_FIELDS });

/** Fields of a chat completion under their names in `options`. */
export const OPTION_NAMES: Renames = [
  ['max_completion_tokens', 'options.num_predict'],
  ['seed', 'options.seed'],
  ...chatNames(SAMPLING, 'ollama').map(([chat, own]) => [chat, `options.${own}`] as const),
];

/** Throws if an option asks for something that is not built. */
export function toSampling(options: object): object {
  const { body } = underNames([['', 'options']], () => checkOptions(options));
  const { num_predict = -1, seed = -1 } = body;
  return withoutMissing({
    ...sharedFields(body, SAMPLING, 'ollama'),
    max_completion_tokens: num_predict < 0 ? undefined : num_predict,
    seed: seed === -1 ? undefined : seed,
  });
}
