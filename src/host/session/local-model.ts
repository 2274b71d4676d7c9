// The model of this thread that a service answers for.

import type { Service } from '../../engine/opening/served.ts';
import { callByName, modelObject, type AnyModel, type Calls } from './model.ts';

/** Returns the model that a service of this thread answers for, and that ends and closes with its session. */
export function localModel<M extends AnyModel>(
  service: Service<M>,
  session: Pick<AnyModel, 'ended' | 'close'>,
  calls: Calls<M>,
): M {
  const { info, generate } = service as unknown as Service<AnyModel>;
  const model = {
    info,
    asleep: false,
    ended: session.ended,
    generate: generate.bind(service),
    close: () => session.close(),
  };
  return modelObject(model, calls, (name, given) => callByName(service, name, given));
}
