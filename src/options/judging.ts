// How a model is opened that ranks documents.

import { rowsWith } from './setting.ts';

export const JUDGING = rowsWith(
  { models: ['embedding'] },
  {
    /** Other models are opened as without it. Default: false. */
    judge: {
      kind: { type: 'boolean' },
      help: 'A language model without modules.json judges documents by the logits of its answers "yes" and "no" (Qwen3-Reranker as it is published).',
      flag: { group: 'Model', otherwise: 'off' },
    },
  },
);
