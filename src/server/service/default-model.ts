// Which of several models of a kind a request means that names none.

import { type ImageModel, MODEL_KINDS, type TextModel } from '../../index.ts';
import { isOf, type Slot } from './service.ts';

/** Narrows the models of one kind to those that the name `default` may stand for. */
export type Candidates = (slots: readonly Slot[]) => readonly Slot[];

/** Narrows models to those for which `holds` is true; keeps all models if it is true for none. */
export const preferring =
  (holds: (slot: Slot) => boolean): Candidates =>
  (slots) => {
    const found = slots.filter(holds);
    return found.length > 0 ? found : slots;
  };

/** The route that errors name for image models that draw clips. */
export const CLIP_ENDPOINT = 'POST /v1/videos';

/** Whether a model draws clips unless a request says otherwise; of a model that is not open, as far as its files tell. */
export function drawsClips({ phase, demand }: Slot): boolean {
  if (phase.name === 'ready' && isOf<ImageModel>(MODEL_KINDS.image, phase.ready))
    return (phase.ready.model.info.defaults.frames ?? 1) > 1;
  return demand?.found.drawsClips ?? false;
}

/** Whether a model can draw clips; of a model that is not open, as far as its files tell. */
export function takesFrames(slot: Slot): boolean {
  const { phase } = slot;
  if (phase.name === 'ready' && isOf<ImageModel>(MODEL_KINDS.image, phase.ready))
    return phase.ready.model.info.frameMultiple !== null;
  return drawsClips(slot);
}

/** Whether a model writes down sounds: one for that, or a language model that hears. One that was never open may. */
export function mayTranscribe({ kind, phase, demand }: Slot): boolean {
  if (kind?.name !== MODEL_KINDS.text.name) return true;
  if (phase.name === 'ready' && isOf<TextModel>(MODEL_KINDS.text, phase.ready))
    return phase.ready.model.info.transcription !== undefined;
  const info = demand?.info as TextModel['info'] | null | undefined;
  return info == null || info.transcription !== undefined;
}
