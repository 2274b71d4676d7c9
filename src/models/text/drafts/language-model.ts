// An ordinary language model as the draft model of another one with the same vocabulary. It takes nothing of it.

import { unsupported } from '../../../files/error.ts';
import type { DraftDeclaration, LayerState, TextDeclaration } from '../blocks/architecture.ts';

/** Throws unsupported for a model that cannot guess tokens for the target: another vocabulary, or states that cannot be taken back. */
export function draftOf(declaration: TextDeclaration, target: TextDeclaration): DraftDeclaration {
  const { architecture, vocabulary, hidden, ropes, inputs, layers, generate } = declaration;
  const refuse = (problem: string): never => {
    throw unsupported(`${architecture} cannot be the draft model of ${target.architecture}: ${problem}`);
  };
  if (generate === null) refuse('it generates no text; choose a language model');
  if (declaration.source) refuse('it writes about a source, and drafts have none; choose a language model');
  if (vocabulary !== target.vocabulary)
    refuse(
      `its vocabulary has ${vocabulary} tokens, and that of the model ${target.vocabulary}; choose a smaller model of the same series`,
    );
  if (layers.some(({ kind }) => kind === 'slot'))
    refuse(
      'its layers keep states that guessed tokens change for good; choose one whose layers keep keys and values only',
    );
  if (inputs.attention !== 'causal') refuse('its tokens see later ones; choose a language model');
  const first = target.layers.length;
  return {
    name: architecture,
    kind: 'draft',
    hidden,
    taken: null,
    vocabulary,
    ropes,
    positions: inputs.positions,
    layers: layers.map((layer): LayerState =>
      layer.kind === 'shared' ? { ...layer, layer: first + layer.layer } : layer,
    ),
    tokenOffsets: null,
    page(weights) {
      const model = generate!(weights);
      return {
        states: (tape, batch, stores) => model.states(tape, batch, stores),
        head: (states, batch) => ({ logits: model.head(states, batch), handed: null }),
      };
    },
  };
}
