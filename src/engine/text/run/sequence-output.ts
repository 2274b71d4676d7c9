// The text of a sequence on its way to the client: tokens become pieces of text, the stop matcher withholds text that may become a
// stop, the parser separates reasoning, tool calls and content, and the parts are emitted as events.

import type { EngineError } from '../../../files/error.ts';
import type { StopAutomaton } from '../../../grammar/stops/stop-automaton.ts';
import type { OutputParser, OutputPart } from '../calls/output-parser.ts';
import type { Piece, Pieces } from '../calls/piece.ts';
import type { TextEvent, TokenLogprob } from '../calls/text-model.ts';

export interface OutputParts {
  choice: number;
  pieces: Pieces;
  stops: StopMatcher;
  parser: OutputParser;
  /** Whether the text that a stop matched stays in the text. */
  keepStop: boolean;
  emit: (event: TextEvent) => void;
}

const EVENTS = { content: 'delta', reasoning: 'reasoning' } as const;

export class SequenceOutput {
  readonly pieces: Pieces;
  readonly parser: OutputParser;
  readonly emit: (event: TextEvent) => void;
  readonly #choice: number;
  readonly #stops: StopMatcher;
  readonly #keepStop: boolean;
  /** A parsed part that is withheld while its tokens have no text yet. */
  #pending: OutputPart | null = null;

  constructor({ choice, pieces, stops, parser, keepStop, emit }: OutputParts) {
    this.pieces = pieces;
    this.parser = parser;
    this.emit = emit;
    this.#choice = choice;
    this.#stops = stops;
    this.#keepStop = keepStop;
  }

  /**
   * Converts a token to text. `mayStop`: whether a stop that it completes counts. The caller passes the pieces to `emitPieces`;
   * `matched` is the stop that ends the text before them, or null.
   */
  read(id: number, logprob: TokenLogprob | undefined, mayStop: boolean): ReturnType<StopMatcher['push']> {
    return this.#stops.push(this.pieces.of(id, logprob), mayStop);
  }

  /** Parses the pieces and emits the resulting parts. */
  emitPieces(pieces: readonly Piece[]): void {
    for (const piece of pieces) for (const part of this.parser.push(piece)) this.#add(part);
    // Tokens without text are withheld: all tokens of one character are emitted with its last token.
    const pending = this.#pending;
    if (pending?.text !== '' || pending.kind === 'toolCall') this.#emitPending();
  }

  /** Emits the last pieces and everything that was withheld. */
  finish(last: readonly Piece[]): void {
    this.emitPieces(last);
    for (const part of this.parser.flush()) this.#add(part);
    this.#emitPending();
  }

  /** Returns the last pieces of a text that ends at a stop token; `read` are the pieces of that token. */
  lastAtToken(id: number, read: readonly Piece[]): Piece[] {
    const own = this.#keepStop ? '' : this.pieces.ownText(id);
    // An incomplete character belongs to the tokens before a stop token that has no text.
    const rest = own === '' ? [this.#rest()] : [];
    return withoutTail([...read, ...this.#stops.flush(), ...rest], own.length);
  }

  /** Returns the last pieces of a text that ends after its last token. */
  lastPieces(): Piece[] {
    return [...this.#stops.push(this.#rest(), false).pieces, ...this.#stops.flush()];
  }

  /** Returns the bytes of an incomplete character as text. */
  #rest(): Piece {
    return { id: null, text: this.pieces.rest(), special: false };
  }

  #add(part: OutputPart): void {
    const pending = this.#pending;
    if (pending !== null && continues(pending, part)) {
      this.#pending = {
        ...pending,
        text: pending.text + part.text,
        ids: [...pending.ids, ...part.ids],
        logprobs: [...pending.logprobs, ...part.logprobs],
      };
    } else {
      this.#emitPending();
      this.#pending = part;
    }
  }

  #emitPending(): void {
    const part = this.#pending;
    this.#pending = null;
    if (part === null || (part.kind !== 'toolCall' && part.text === '' && part.ids.length === 0)) return;
    const generated = {
      choice: this.#choice,
      ids: part.ids,
      ...(part.logprobs.length > 0 ? { logprobs: part.logprobs } : {}),
    };
    if (part.kind !== 'toolCall') {
      this.emit({ type: EVENTS[part.kind], text: part.text, ...generated });
      return;
    }
    const { call, id, name, text } = part;
    const first = { ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }) };
    this.emit({ type: 'toolCall', call, ...first, arguments: text, ...generated });
  }
}

function continues(pending: OutputPart, part: OutputPart): boolean {
  if (part.kind !== 'toolCall') return pending.kind === part.kind;
  return pending.kind === 'toolCall' && pending.call === part.call && part.name === undefined;
}

/** Returns the tokens of these pieces, without the last `length` characters of their text. */
function withoutTail(pieces: readonly Piece[], length: number): Piece[] {
  const { before, after } = splitPieces(pieces, textOf(pieces).length - length);
  return [...before, ...after.filter(({ id }) => id !== null).map((piece) => ({ ...piece, text: '' }))];
}

/** Converts an error to the plain value that a `done` event carries. */
export function eventError({
  code,
  message,
  parts,
  param,
}: EngineError): NonNullable<Extract<TextEvent, { type: 'done' }>['error']> {
  return { code, message, parts, ...(param !== null && { param }) };
}

interface StopMatch {
  /** Pieces that can be reported. Text of a matched stop is cut out of them. */
  pieces: Piece[];
  /** The stop that ended the text; null: none. */
  matched: string | null;
}

export interface StopMatcher {
  /** Adds a piece. `mayStop` false: a stop that this piece completes is ordinary text. */
  push(piece: Piece, mayStop?: boolean): StopMatch;
  /** Ends the text and returns the withheld pieces. */
  flush(): Piece[];
}

interface StopOptions {
  stops: readonly StopAutomaton[];
  /** Whether the stop stays in the text. */
  keep?: boolean;
}

/**
 * Creates a matcher of stops in a stream of pieces. Only the longest tail that could still become a stop is withheld. The stop that is complete first ends the text, however it is split into tokens; of several that end at the
 * same character, the one that began first.
 */
export function createStopMatcher({ stops, keep = false }: StopOptions): StopMatcher {
  if (stops.length === 0) return { push: (piece) => ({ pieces: [piece], matched: null }), flush: () => [] };
  let withheld: Piece[] = [];
  /** Offsets at which the withheld text begins and ends. */
  let from = 0;
  let end = 0;
  const release = (to: number): Piece[] => {
    // Pieces that are already withheld are not split again at each token.
    if (to === from && withheld[0]?.text !== '') return [];
    const { before, after } = splitPieces(withheld, to - from);
    withheld = after;
    from = to;
    return before;
  };

  /** Stops at the end of the text, by where they begin. */
  const match = (code: number): { at: number; stop: string } | null => {
    let best: { at: number; stop: string } | null = null;
    for (const automaton of stops) {
      const at = automaton.step(code);
      if (at >= 0 && (best === null || at < best.at)) best = { at, stop: automaton.stop };
    }
    return best;
  };
  return {
    push(piece, mayStop = true) {
      withheld.push(piece);
      for (const character of piece.text) {
        const found = match(character.codePointAt(0)!);
        end += character.length;
        if (!found || !mayStop) continue;
        const pieces = release(keep ? end : Math.max(found.at, from));
        // Tokens of the stop are reported without text.
        for (const { id, special, logprob } of withheld)
          if (id !== null) pieces.push({ id, text: '', special, ...(logprob ? { logprob } : {}) });
        withheld = [];
        return { pieces, matched: found.stop };
      }
      const open = stops.reduce((first, stop) => Math.min(first, stop.open), end);
      return { pieces: release(Math.max(open, from)), matched: null };
    },
    flush: () => release(end),
  };
}

export function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('');
}

/** Splits pieces after `length` characters. A piece that is cut keeps its id in the first part; pieces without text stay with the piece before. */
function splitPieces(pieces: readonly Piece[], length: number): { before: Piece[]; after: Piece[] } {
  const before: Piece[] = [];
  const after: Piece[] = [];
  let left = length;
  for (const piece of pieces) {
    const fits = piece.text.length <= left && after.length === 0;
    if (fits) before.push(piece);
    else if (left > 0) {
      before.push({ ...piece, text: piece.text.slice(0, left) });
      after.push({ id: null, text: piece.text.slice(left), special: piece.special });
    } else after.push(piece);
    left = fits ? left - piece.text.length : 0;
  }
  return { before, after };
}
