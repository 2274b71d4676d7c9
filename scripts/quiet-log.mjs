// What a server prints, without what it prints while somebody talks to it, and without the lines about those requests, of which the last comes
// after the reply.

const REQUEST = /^(\[\w+\] )?POST \//;

export class QuietLog {
  #write;
  #rest = '';
  #isQuiet = false;
  /** Lines about requests so far, and those of the talk that has ended. */
  #said = 0;
  #expected = 0;

  /** `write` gets whole lines. */
  constructor(write) {
    this.#write = write;
  }

  /** Takes what the server prints, in pieces. */
  add(bytes) {
    const lines = (this.#rest + bytes).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) {
      const isOfTalk = REQUEST.test(line) && ++this.#said <= this.#expected;
      if (!this.#isQuiet && !isOfTalk) this.#write(`${line}\n`);
    }
  }

  /** A talk begins. */
  begin() {
    this.#isQuiet = true;
    this.#said = 0;
  }

  /** The talk has ended, after a number of requests. */
  end(requests) {
    this.#isQuiet = false;
    this.#expected = requests;
  }
}
