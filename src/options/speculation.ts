// The settings of speculation: tokens that are guessed, and computed several in one step.

import { DEFAULTS, LIMITS } from './limits.ts';
import { rowsWith } from './setting.ts';

/** Values of `speculativeAlgorithm`. */
export const SPECULATION_CHOICES = ['none', 'ngram', 'mtp', 'eagle3', 'draft'] as const;

export const SPECULATION = rowsWith(
  { models: ['text'] },
  {
    speculativeAlgorithm: {
      kind: { type: 'choice', choices: SPECULATION_CHOICES },
      help: 'Drafts the next tokens and computes several in one step; no token differs. ngram: as the text went on before; mtp: by heads that the checkpoint has for it, or by an assistant of Gemma 4; eagle3, draft: by another checkpoint.',
      default: 'none',
      flag: {
        group: 'Speculation',
        elsewhere: ['spec-type'],
        words: { NGRAM: 'ngram', NEXTN: 'mtp', EAGLE3: 'eagle3', STANDALONE: 'draft' },
      },
    },
    /** Path of a model folder, or hub id. */
    speculativeDraftModelPath: {
      kind: { type: 'text' },
      help: 'Checkpoint that guesses tokens: of EAGLE3, an assistant of Gemma 4, or for draft a small model with the same tokens.',
      flag: {
        group: 'Speculation',
        value: 'folder|id',
        otherwise: 'none',
        elsewhere: ['model-draft', 'spec-draft-model'],
      },
    },
    speculativeNumDraftTokens: {
      kind: { type: 'integer', min: 1, max: LIMITS.draftTokens },
      help: `Tokens drafted at once, at most; up to ${LIMITS.draftTokens}.`,
      default: DEFAULTS.draftTokens,
      flag: {
        group: 'Speculation',
        otherwise: String(DEFAULTS.draftTokens),
        elsewhere: ['num-speculative-tokens', 'draft-max', 'draft'],
      },
    },
    /** false: every draft is computed. Default: true. */
    speculativeAdaptive: {
      kind: { type: 'boolean' },
      help: 'Every draft is computed, whether measured times say that it pays or not.',
      flag: { name: 'disable-speculative-adaptive', group: 'Speculation', otherwise: 'off', negates: true },
    },
    speculativeNgramCapacity: {
      kind: { type: 'integer', min: 0, max: 2 ** 26 },
      help: 'Tokens of earlier replies in which ngram looks, too. Other clients could then infer earlier replies from how fast their own come.',
      flag: { group: 'Speculation', otherwise: 'none' },
    },
  },
);
