// Draft models by the class of their checkpoint, and the declaration of a model that has one.

import { unsupported } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import { CONFIG_JSON, type ConfigFile, type Json } from '../config-values.ts';
import type { DraftDeclaration, TextDeclaration } from './blocks/architecture.ts';
import { EAGLE3_CLASSES, isEagle3, readEagle3 } from './drafts/eagle3-config.ts';
import { GEMMA4_ASSISTANTS, readGemma4Assistant } from './gemma4/gemma4-assistant.ts';

/** Classes of checkpoints that are draft models and nothing else. */
export const DRAFT_CLASSES: readonly string[] = [...EAGLE3_CLASSES, ...GEMMA4_ASSISTANTS];

/**
 * The draft model of a checkpoint that is nothing else, made for a target; null: the class is that of an ordinary language model. Errors: bad_checkpoint,
 * unsupported.
 */
export function readDraft(
  json: Json,
  architecture: string,
  target: TextDeclaration,
  file: ConfigFile = CONFIG_JSON,
): DraftDeclaration | null {
  if (GEMMA4_ASSISTANTS.includes(architecture)) return readGemma4Assistant(json, architecture, target, file);
  return isEagle3(json, architecture) ? readEagle3(json, architecture, target, file) : null;
}

/** The heads of the model's own checkpoint that predict several tokens ahead. Throws unsupported if it has none. */
export function ownDraft(
  { mtp, architecture }: TextDeclaration,
  tensors: { has(name: string): boolean },
): DraftDeclaration {
  if (mtp && tensors.has(mtp.sign)) return mtp;
  const why = mtp ? `the checkpoint has no ${mtp.sign}` : `${architecture} has none that are built`;
  throw unsupported(
    say`${option('speculativeAlgorithm')} mtp needs heads that predict several tokens ahead, and ${why}: take ngram, or a checkpoint that was published with such heads`,
  );
}

/**
 * A model with a draft model: its layers keep their states behind those of the model, in the same pages. `isOwn`: its weights are in the model's own
 * checkpoint, and its page is `draft` of the model's.
 */
export function withDraft(
  declaration: TextDeclaration,
  draft: DraftDeclaration,
  { isOwn }: { isOwn: boolean },
): TextDeclaration {
  const { generate, layers, tied } = declaration;
  return {
    ...declaration,
    layers: [...layers, ...draft.layers],
    ...(isOwn &&
      generate && {
        generate: (weights) => {
          const model = generate(weights);
          return { ...model, draft: draft.page(weights, model.target!) };
        },
      }),
    tied: tied && { ...tied, untied: withDraft(tied.untied, draft, { isOwn }) },
  };
}
