// What a key may use: requests and tokens of the last minute, and requests at one time.

import { RequestError } from '../http/errors.ts';

const MINUTE = 60_000;

/** What a key may use; a member that is left out sets no bound. */
export interface KeyBounds {
  requestsPerMinute?: number;
  tokensPerMinute?: number;
  maxRunning?: number;
}

/** Amounts of the last minute, each with the time at which it was counted. */
class Minute {
  #entries: { at: number; amount: number }[] = [];
  #sum = 0;

  add(at: number, amount: number): void {
    const last = this.#entries.at(-1);
    // Tokens come one by one; amounts of one second share an entry.
    if (last && at - last.at < 1000) last.amount += amount;
    else this.#entries.push({ at, amount });
    this.#sum += amount;
  }

  sum(now: number): number {
    while (this.#entries.length > 0 && this.#entries[0]!.at <= now - MINUTE)
      this.#sum -= this.#entries.shift()!.amount;
    return this.#sum;
  }

  /** Milliseconds until less than `bound` is counted. */
  wait(now: number, bound: number): number {
    let left = this.sum(now);
    for (const { at, amount } of this.#entries) {
      if (left < bound) break;
      left -= amount;
      if (left < bound) return at + MINUTE - now;
    }
    return 0;
  }
}

/** The use of one key. Times are milliseconds on the monotonic clock. */
export class KeyLimits {
  readonly #name: string;
  readonly #bounds: KeyBounds;
  readonly #now: () => number;
  #use = { requests: new Minute(), tokens: new Minute(), running: 0 };

  constructor(name: string, bounds: KeyBounds, now = (): number => performance.now()) {
    this.#name = name;
    this.#bounds = bounds;
    this.#now = now;
  }

  /**
   * Counts a request, which calls the returned function when its reply has ended. Throws RequestError with the time to wait where a bound is reached.
   */
  begin(): () => void {
    const now = this.#now();
    const { requestsPerMinute = Infinity, tokensPerMinute = Infinity, maxRunning = Infinity } = this.#bounds;
    if (this.#use.running >= maxRunning)
      throw this.#refusal(`runs ${this.#use.running} requests, which is as many as it may at one time`, 1000);
    if (this.#use.requests.sum(now) >= requestsPerMinute)
      throw this.#refusal(
        `has sent ${requestsPerMinute} requests within a minute, which is as many as it may`,
        this.#use.requests.wait(now, requestsPerMinute),
      );
    if (this.#use.tokens.sum(now) >= tokensPerMinute)
      throw this.#refusal(
        `has used its ${tokensPerMinute} tokens of this minute`,
        this.#use.tokens.wait(now, tokensPerMinute),
      );
    this.#use.requests.add(now, 1);
    this.#use.running += 1;
    const use = this.#use;
    let ended = false;
    return () => {
      if (!ended) use.running -= 1;
      ended = true;
    };
  }

  /** Takes over what was used under other bounds of the same key. */
  continueFrom(before: KeyLimits): void {
    this.#use = before.#use;
  }

  countTokens(tokens: number): void {
    if (tokens > 0) this.#use.tokens.add(this.#now(), tokens);
  }

  /** The headers with which OpenAI tells clients what is left. */
  headers(): Record<string, string> {
    const now = this.#now();
    const { requestsPerMinute, tokensPerMinute } = this.#bounds;
    return {
      ...(requestsPerMinute !== undefined && shown('requests', requestsPerMinute, this.#use.requests, now)),
      ...(tokensPerMinute !== undefined && shown('tokens', tokensPerMinute, this.#use.tokens, now)),
    };
  }

  #refusal(what: string, wait: number): RequestError {
    const milliseconds = Math.max(1, Math.ceil(wait));
    const seconds = Math.ceil(milliseconds / 1000);
    return new RequestError('rate_limited', `the key ${this.#name} ${what}; try again in ${seconds} s`, {
      headers: {
        'retry-after': String(seconds),
        'retry-after-ms': String(milliseconds),
        ...this.headers(),
      },
    });
  }
}

function shown(what: string, bound: number, used: Minute, now: number): Record<string, string> {
  const left = Math.max(0, bound - used.sum(now));
  return {
    [`x-ratelimit-limit-${what}`]: String(bound),
    [`x-ratelimit-remaining-${what}`]: String(left),
    [`x-ratelimit-reset-${what}`]: `${Math.ceil(used.wait(now, bound) / 1000)}s`,
  };
}
