// The draft model that the options of a text model ask for, and the declaration of both together.

import { badRequest, EngineError } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import type { Folder } from '../../files/source.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';
import { withDraft } from '../../models/text/draft-registry.ts';
import { openDraftSource, ownDraftSource, type DraftedModel } from './speculation/drafts/open-draft.ts';
import type { DraftModelSource } from './step/runner-drafts.ts';
import type { TextModelOptions } from './calls/text-model.ts';

export type DraftOptions = Pick<TextModelOptions, 'speculativeAlgorithm' | 'speculativeDraftModelPath'>;

export interface WithDraft {
  /** Declaration of the model with its draft model's layers behind its own. */
  declaration: TextDeclaration;
  /** null: there is none. */
  draft: DraftModelSource | null;
  /** Closes the draft model's files. */
  close(): Promise<void>;
}

export interface DraftTargetFiles extends Pick<DraftedModel, 'tokenizer'> {
  declaration: TextDeclaration;
  tensors: ReadonlyMap<string, TensorEntry>;
}

/** Names of kinds of draft models, for messages. */
const KINDS = { mtp: 'an assistant', eagle3: 'EAGLE3', draft: 'an ordinary language model' } as const;

/** Errors: bad_request for a draft model of another kind; unsupported for a draft model that was not made for this one; what reading throws. */
export async function readDraftModel(
  { speculativeAlgorithm: algorithm = 'none', speculativeDraftModelPath: path }: DraftOptions,
  { declaration, tensors, tokenizer }: DraftTargetFiles,
  openFolder: (path: string) => Promise<Folder>,
): Promise<WithDraft> {
  const none = { declaration, draft: null, close: async () => {} };
  const [given, kind] = [option('speculativeDraftModelPath'), option('speculativeAlgorithm')];
  if (algorithm === 'none' || algorithm === 'ngram') return none;
  if (path === undefined) {
    const draft = ownDraftSource(declaration, tensors);
    return { ...none, declaration: withDraft(declaration, draft.declaration, draft), draft };
  }
  const { source, checkpoint } = await openFolder(path)
    .then((folder) => openDraftSource(folder, { declaration, tokenizer }))
    .catch((error: unknown) => {
      throw ofDraftModel(error, path);
    });
  if (source.declaration.kind !== algorithm) {
    await checkpoint.close();
    throw badRequest(
      say`${given} ${path} is ${KINDS[source.declaration.kind]}, and ${kind} is ${algorithm}: give ${source.declaration.kind}, or another draft model`,
      'speculativeAlgorithm',
    );
  }
  return {
    declaration: withDraft(declaration, source.declaration, source),
    draft: source,
    close: () => checkpoint.close(),
  };
}

/** The error with which a draft model was refused, as one of the option that names it: other readers of errors must not take it for the model's own. */
function ofDraftModel(error: unknown, path: string): unknown {
  if (!(error instanceof EngineError)) return error;
  return new EngineError(error.code, say`${option('speculativeDraftModelPath')} ${path}: ${error}`, {
    param: 'speculativeDraftModelPath',
    cause: error,
  });
}
