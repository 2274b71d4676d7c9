// The dialog that asks before something is removed.

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

interface Question {
  text: string;
  /** Text of the button that agrees. */
  action: string;
  answer(agreed: boolean): void;
}

const question = signal<Question | null>(null);

/** Asks in a dialog; resolves with false where it is left otherwise. A view that asks shows a ConfirmDialog. */
export function confirmed(text: string, action: string): Promise<boolean> {
  question.value?.answer(false);
  return new Promise((resolve) => {
    question.value = {
      text,
      action,
      answer(agreed) {
        question.value = null;
        resolve(agreed);
      },
    };
  });
}

export function ConfirmDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const asked = question.value;
  useEffect(() => {
    if (asked) dialog.current?.showModal();
    else dialog.current?.close();
  }, [asked]);
  return (
    <dialog ref={dialog} aria-labelledby="question" onClose={() => question.value?.answer(false)}>
      <p id="question">{asked?.text}</p>
      <div class="buttons">
        <button type="button" onClick={() => asked?.answer(false)}>
          Cancel
        </button>
        <button type="button" class="first" onClick={() => asked?.answer(true)}>
          {asked?.action ?? 'OK'}
        </button>
      </div>
    </dialog>
  );
}
