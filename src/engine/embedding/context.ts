// The number of tokens that one text may have in an embedding model, and the notes about it.

import { bytesText } from '../../files/bytes-text.ts';
import type { EmbeddingLayout } from '../../files/checkpoint/embedding-folder.ts';
import { option, say, warning, type Message, type Prose } from '../../files/message.ts';
import type { Device } from '../../gpu/device.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';

/** Default limit on the tokens of one text; KV pages for more would take memory from other models. */
const CONTEXT = 8192;

type Stated = Pick<EmbeddingLayout, 'mostTokens'>;

/** Returns the tokens of one text that a model is opened for, if it takes them and memory allows. */
export function wantedContext(contextLength: number | undefined, { mostTokens }: Stated): number {
  return Math.min(contextLength ?? CONTEXT, mostTokens ?? Infinity);
}

/** Notes that explain why texts may have fewer tokens than the model takes; warnings where a length was asked for. `contextLength`: the option; `opened`: the tokens in force. */
export function embeddingContextNotes(
  contextLength: number | undefined,
  { context }: Pick<TextDeclaration, 'context'>,
  stated: Stated,
  opened: number,
  { memoryBudget, capabilities }: Pick<Device, 'memoryBudget' | 'capabilities'>,
): Prose[] {
  const most = Math.min(context, stated.mostTokens ?? Infinity);
  const notes: Message[] = [];
  if (contextLength !== undefined && contextLength > most) {
    notes.push(
      say`${option('contextLength')} ${contextLength} is beyond the ${most} tokens of one text that the model was made for; using those`,
    );
  }
  const wanted = Math.min(contextLength ?? CONTEXT, most);
  if (opened < wanted) {
    notes.push(
      say`the context is shortened from ${wanted} to ${opened} tokens to fit the memory budget of ${bytesText(memoryBudget)} and the ${bytesText(capabilities.bindingLimit)} that this adapter binds`,
    );
  }
  return contextLength === undefined ? notes : notes.map(warning);
}
