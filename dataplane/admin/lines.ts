import { MAX_LINE_BYTES } from '../../shared/wire/apply.ts';
import { ApiError } from './errors.ts';

const LF = 10;
const strictText = new TextDecoder('utf-8', { fatal: true });

/** Cuts the bytes of an apply stream into lines, however they are split. */
export class LineReader {
  private partial: Buffer | null = null;

  /** @returns the lines that are whole now, without their ends. @throws ApiError for a line that is too long or no UTF-8. */
  *feed(chunk: Buffer): Generator<string> {
    let from = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      yield this.text(chunk.subarray(from, end));
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    this.partial = this.partial === null ? rest : Buffer.concat([this.partial, rest]);
    if (this.partial.length > MAX_LINE_BYTES) throw tooLong();
  }

  /** What stands after the last line end: a line too, when the body ends there. */
  rest(): string {
    return this.text(Buffer.alloc(0));
  }

  private text(end: Buffer): string {
    const line = this.partial === null ? end : Buffer.concat([this.partial, end]);
    this.partial = null;
    if (line.length > MAX_LINE_BYTES) throw tooLong();
    try {
      return strictText.decode(line).trim();
    } catch {
      throw new ApiError('malformedStream', 'a line is not UTF-8');
    }
  }
}

const tooLong = (): ApiError => new ApiError('malformedStream', 'a line is longer than 1 MB');
