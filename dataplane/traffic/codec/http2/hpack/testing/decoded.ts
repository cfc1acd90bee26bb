import { FieldLines, type FieldSink, type HpackDecoder } from '../decoder.ts';

/** A field as the sink gets it. */
export type Decoded = { readonly name: string; readonly value: string; readonly known: number; readonly oddities: number };

/** Test support: collects the fields of one block. `fields` is null for a compression error. */
export class FieldCollector implements FieldSink {
  readonly lines = new FieldLines();
  private collected: Decoded[] = [];

  field(lines: FieldLines, start: number, colon: number, end: number, known: number, oddities: number): void {
    const line = lines.bytes.toString('latin1', start, end);
    const [name, value] = [line.slice(0, colon - start), line.slice(colon - start + 2, -2)];
    if (line !== `${name}: ${value}\r\n` || lines.length !== end) throw new Error(`not a field line: ${JSON.stringify(line)}`);
    this.collected.push({ name, value, known, oddities });
  }

  decode(decoder: HpackDecoder, block: Buffer, maxBytes = Number.POSITIVE_INFINITY): readonly Decoded[] | null {
    this.collected = [];
    this.lines.length = 0;
    return decoder.decode(block, 0, block.length, this.lines, maxBytes, this) ? this.collected : null;
  }
}

/** The fields of one block, given in hexadecimal with any white space, as `name: value`. null for a compression error. */
export function linesOf(decoder: HpackDecoder, hex: string, maxBytes?: number): string[] | null {
  const fields = new FieldCollector().decode(decoder, Buffer.from(hex.replace(/\s/g, ''), 'hex'), maxBytes);
  return fields?.map(({ name, value }) => `${name}: ${value}`) ?? null;
}
