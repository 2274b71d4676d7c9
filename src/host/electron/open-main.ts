// Opens models in the engine's window, and lists its adapters.

import type { AdapterSummary } from '../../gpu/adapter.ts';
import { noteOf, say, type Prose } from '../../files/message.ts';
import { EngineError } from '../../files/error.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import { letSleep } from '../session/sleeping-model.ts';
import type { AnyModel } from '../session/model.ts';
import type { ModelFace, SessionOptions } from '../kinds/model-kind.ts';
import { modelName } from '../../engine/opening/model-name.ts';
import { openContinuing } from './continuing-model.ts';
import { engine } from './engine.ts';
import { FACES, type KindTypes } from './faces.ts';
import { PlainRepeat, TextRepeat, type Repeat } from '../kinds/repeat.ts';
import type { KindName } from './wire.ts';

/** Opens a model of a kind. Errors: those of openTextModel in main.ts. */
export function openModel<Name extends KindName>(
  name: Name,
  options: KindTypes[Name]['options'],
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<KindTypes[Name]['model']> {
  return open(name, FACES[name] as ModelFace<SessionOptions, AnyModel>, options, onEvent, signal) as Promise<
    KindTypes[Name]['model']
  >;
}

async function open<Options extends SessionOptions, M extends AnyModel>(
  thread: KindName,
  kind: ModelFace<Options, M>,
  options: Options,
  onEvent: (event: OpenEvent) => void = () => {},
  signal: AbortSignal | undefined,
): Promise<M> {
  kind.check(options);
  if (options.inline)
    throw new EngineError(
      'bad_request',
      'inline is true; in Electron the engine runs in a worker: leave it out',
      {
        param: 'inline',
      },
    );
  const repeat = (request: never): Repeat<unknown, unknown> =>
    thread === 'text' ? new TextRepeat(request) : new PlainRepeat(request);
  const once = (giveUp?: AbortSignal): Promise<M> =>
    openContinuing({ thread, kind, options, onEvent, repeat }, giveUp);
  const model = await once(signal);
  const { sleepAfter: after } = options;
  if (after === undefined) return model;
  const note = (message: Prose): void => onEvent(noteOf(say`${modelName(options.model)}: ${message}`));
  return letSleep(model, { after, open: once, note, calls: kind.calls, ...kind.sleep(model, options) });
}

/** Lists the adapters that the engine's window offers, best first. Throws no_adapter. */
export async function listAdapters(): Promise<AdapterSummary[]> {
  const thread = await engine.start('adapters');
  try {
    return await thread.worker.call('adapters');
  } finally {
    await thread.stop();
  }
}
