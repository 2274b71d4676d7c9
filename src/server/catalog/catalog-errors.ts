// Errors of models that are opened on demand.

import { EngineError } from '../../index.ts';
import { bytesText } from '../../files/bytes-text.ts';
import { countText } from '../../files/count-text.ts';
import { RequestError } from '../http/errors.ts';
import { option, say } from '../../files/message.ts';

export const closedError = (): EngineError =>
  new EngineError('cancelled', 'the server stops, and opens no models any more');

export const removingError = (name: string): RequestError =>
  new RequestError(
    'busy',
    `${name} is being deleted; ask for it again once GET /v1/models no longer lists it`,
  );

export const wantedError = (name: string): RequestError =>
  new RequestError('busy', `a request waits for ${name}; delete it once that has ended`);

export function waitingError(name: string, waiting: number): EngineError {
  return new EngineError(
    'overloaded',
    say`${countText(waiting, 'request')} ${waiting === 1 ? 'waits' : 'wait'} for ${name} to be opened, as many as ${option('maxQueuedRequests')} allows; try again later`,
  );
}

/** `room`: bytes that models which stay open leave of the budget. */
export function noRoom(name: string, bytes: number, room: number, budget: number): EngineError {
  const left = room < budget ? `, of which models that stay open leave ${bytesText(Math.max(0, room))}` : '';
  return new EngineError(
    'out_of_memory',
    say`it takes ${bytesText(bytes)}, and all models together have ${bytesText(budget)}${left}: raise ${option('memoryBudget')}, unload a model that stays open, or choose a smaller one than ${name}`,
  );
}

export function fullError(name: string, most: number): EngineError {
  const stay = most === 1 ? 'stays' : 'stay';
  return new EngineError(
    'overloaded',
    `${countText(most, 'pinned model')} ${stay} open, as many as --models-max allows: unload one before ${name} is asked for, or start the server with a larger --models-max`,
  );
}

/** The error of requests for a model that cannot be opened. What nobody foresaw is for the log. */
export function openingError(name: string, error: unknown): EngineError {
  if (!(error instanceof EngineError))
    return new EngineError('internal', `${name} could not be opened: ${String(error)}`, { cause: error });
  return new EngineError(error.code, say`${name} could not be opened: ${error}`, { cause: error });
}
