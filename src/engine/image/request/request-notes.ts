// Notes on a request before it is drawn: settings without effect, and syntax of other programs in its prompts.

import { type Prose, field, say } from '../../../files/message.ts';
import { fewStepsNote } from './few-steps.ts';
import { isEmpty } from '../stages/mask-crop.ts';
import type { FamilyModel } from '../blocks/family.ts';
import { promptNotes } from './prompt-notes.ts';
import type { Resolved, ResolveContext } from '../stages/resolved.ts';
import type { Planner } from '../stages/step-planner.ts';

/** The part of an opened pipeline that notes are about. */
interface OpenedModel {
  planner: Pick<Planner, 'leavesOut' | 'unknownSettings'>;
  context: Pick<ResolveContext, 'pipeline' | 'words'>;
  runner: Pick<FamilyModel, 'notesOn' | 'guides' | 'ignoresGuidance'>;
}

/** Returns the notes on a request. */
export function notesOn(resolved: Resolved, parts: OpenedModel): Prose[] {
  const {
    request,
    event: { values },
  } = resolved;
  const { planner, context } = parts;
  const weighs = context.pipeline.family.readsEmphasis;
  const left = planner.leavesOut(values.scheduler);
  const notes: Prose[] = [request.prompt, values.negativePrompt].flatMap((text) =>
    promptNotes(text, weighs, context.words),
  );
  const few = fewStepsNote(resolved);
  if (left !== null) notes.unshift(left);
  if (few !== null) notes.unshift(few);
  if (planner.unknownSettings !== null) notes.unshift(planner.unknownSettings);
  if (request.mask && isEmpty(request.mask))
    notes.push('the mask is black throughout, and only what is white is drawn anew');
  return [...new Set([...notes, ...ineffective(resolved, parts)])];
}

/** Returns notes on fields that were given and have no effect. */
function ineffective(
  { event: { values, sources }, call }: Resolved,
  { runner }: Pick<OpenedModel, 'runner'>,
): Prose[] {
  const own = runner.notesOn?.({ values, sources, call }) ?? [];
  if (runner.guides(values.guidance, call)) return own;
  const isAsked = (key: keyof typeof values): boolean => ['request', 'kwargs'].includes(sources[key]);
  const unguided =
    runner.ignoresGuidance === true && isAsked('guidance') && values.guidance > 1
      ? [say`${field('guidance')} changes nothing: this model is distilled to a few steps without guidance`]
      : [];
  const asked = [
    ...(isAsked('negativePrompt') && values.negativePrompt !== '' ? ['negativePrompt'] : []),
    ...(isAsked('guidanceRescale') && values.guidanceRescale > 0 ? ['guidanceRescale'] : []),
  ];
  const why = say`at ${field('guidance')} ${values.guidance} this model makes no pass without the prompt`;
  return [...own, ...unguided, ...asked.map((name) => say`${field(name)} changes nothing: ${why}`)];
}
