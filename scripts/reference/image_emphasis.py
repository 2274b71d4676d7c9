"""States of CLIP texts with weights, and of texts longer than a window: each window is read alone, each row takes its token's weight.

A text is a list of sections, a section a list of pieces (text, weight). A section begins a window; one of more tokens than a
window holds goes on in further ones. Pooled is the first window, as the model made it.
"""

import torch


def windows(tokenizer, sections):
    """Ids and weights of each window: BOS, 75 tokens at most, EOS, padding."""
    room = tokenizer.model_max_length - 2
    for pieces in sections:
        ids = [(id, weight) for text, weight in pieces for id in tokenizer(text, add_special_tokens=False).input_ids]
        for at in range(0, max(len(ids), 1), room):
            taken = ids[at : at + room]
            padding = [(tokenizer.pad_token_id, 1.0)] * (room - len(taken))
            yield [(tokenizer.bos_token_id, 1.0), *taken, (tokenizer.eos_token_id, 1.0), *padding]


def states(tokenizer, encoder, sections, count, xl):
    """States [1, 77 · count, columns], filled up with windows of nothing; pooled of the first."""
    texts = [*windows(tokenizer, sections)]
    texts += [*windows(tokenizer, [[]])] * (count - len(texts))
    rows, pooled = [], []
    for text in texts:
        out = encoder(torch.tensor([[id for id, _ in text]]), output_hidden_states=True)
        weights = torch.tensor([weight for _, weight in text])[None, :, None]
        rows.append((out.hidden_states[-2] if xl else out.last_hidden_state) * weights)
        pooled.append(out[0])
    return torch.cat(rows, 1), pooled[0]


def embeddings(pipe, emphasis):
    """What the call takes in place of `prompt` and `negative_prompt`; `emphasis` has the sections of each."""
    xl = hasattr(pipe, 'text_encoder_2')
    readers = [(pipe.tokenizer, pipe.text_encoder)] + ([(pipe.tokenizer_2, pipe.text_encoder_2)] if xl else [])
    count = max(len([*windows(tokenizer, text)]) for tokenizer, _ in readers for text in emphasis.values())
    given = {}
    for name, text in emphasis.items():
        read = [states(*reader, text, count, xl) for reader in readers]
        given[f'{name}_embeds'] = torch.cat([rows for rows, _ in read], -1)
        if xl:
            given[name.removesuffix('prompt') + 'pooled_prompt_embeds'] = read[-1][1]
    return given
