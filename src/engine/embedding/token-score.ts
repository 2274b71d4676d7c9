// A language model whose score for a text is the logit of a token that would follow it.

import { badCheckpoint, unsupported } from '../../files/error.ts';
import type { TokenScore } from '../../files/checkpoint/token-score.ts';
import { logitDifference } from '../../kernels/logit-difference.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';
import { readConfig } from '../../models/config-values.ts';
import { activationNamed } from '../../models/text/blocks/outputs.ts';

/** For messages about the function. */
const SETTINGS = readConfig('config_sentence_transformers.json', {});

/** The declaration of a model with that score in place of its states. Errors: unsupported, bad_checkpoint. */
export function withTokenScore(declaration: TextDeclaration, score: TokenScore | null): TextDeclaration {
  if (score === null) return declaration;
  const { generate, architecture, vocabulary } = declaration;
  if (generate === null)
    throw unsupported(
      `${architecture} gives no logits, of which its LogitScore module makes scores: choose a model whose class ends in ForCausalLM`,
      'modules.json',
    );
  const { yes, no, activation } = score;
  const most = Math.max(yes, no ?? 0);
  if (most >= vocabulary)
    throw badCheckpoint(
      `token ${most} of the LogitScore module is beyond the ${vocabulary} tokens of the model: put the published file in its place`,
      'true_token_id',
    );
  return {
    ...declaration,
    outputs: {
      per: 'text',
      labels: ['LABEL_0'],
      activation: activation === null ? 'sigmoid' : activationNamed(activation, SETTINGS),
      pooling: 'last',
    },
    embed(weights) {
      const model = generate(weights);
      return (tape, batch, stores) =>
        logitDifference(model.head(model.states(tape, batch, stores), batch), yes, no); // [sampled, 1]
    },
  };
}
