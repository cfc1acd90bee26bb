import { DEFAULT_MINIMUM } from '../../../../shared/policy/encode/directive.ts';
import type { HandleSpec, RouteSpec } from '../../../../shared/route.ts';
import { compileStatuses } from '../../../../shared/values/status.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';
import { UNTIL_CLOSE } from '../../exchange/exchange.ts';
import type { AnswerHead, Filter, FilteredRequest, StageMaker } from '../../exchange/filter.ts';
import { CodingChoice } from './accept-encoding.ts';
import { codedFields, revalidatedFields, varyingFields } from './coded-fields.ts';
import { type Coding, codingsOf } from './codings.ts';
import { EncodedStage } from './encoded-stage.ts';
import { compileTypes } from './media-types.ts';
import { ENCODER_MEMORY, type EncoderMemory } from './memory.ts';
import { readFacts } from './response-facts.ts';

type EncodeSpec = NonNullable<RouteSpec['encode']>;

/** Compresses responses for clients that accept it. */
class Encoder implements Filter {
  readonly name = 'encode';
  private readonly codings: ReadonlyMap<string, Coding>;
  private readonly choice: CodingChoice;
  private readonly minimum: number;
  private readonly isType: (type: string) => boolean;
  private readonly isStatus: ((status: number) => boolean) | null;
  private readonly withCookies: boolean;
  private readonly memory: EncoderMemory;

  constructor(spec: EncodeSpec, memory = ENCODER_MEMORY) {
    this.codings = new Map(codingsOf(spec.formats).map((coding) => [coding.name, coding]));
    this.choice = new CodingChoice([...this.codings.keys()]);
    this.minimum = spec.minimum_length ?? DEFAULT_MINIMUM;
    this.isType = compileTypes(spec.types);
    this.isStatus = spec.statuses === undefined ? null : compileStatuses(spec.statuses);
    this.withCookies = spec.with_cookies === true;
    this.memory = memory;
  }

  begin(request: FilteredRequest, head: AnswerHead): StageMaker | null {
    const { status, length } = head;
    if (status === 304) {
      head.fields = revalidatedFields(head.fields, fieldIn(request.fields, 'if-none-match'), readFacts(head.fields).varies);
      return null;
    }
    if (status === 204 || status === 205 || status === 206 || length === 0) return null;
    if ((length !== UNTIL_CLOSE && length < this.minimum) || this.isStatus?.(status) === false) return null;
    const { type, fixed, setsCookies, varies } = readFacts(head.fields);
    if (fixed || (setsCookies && !this.withCookies) || !this.isType(type)) return null;
    // Even for a response that is not encoded: a cache must not send it to everyone.
    if (!varies) head.fields = varyingFields(head.fields);
    const coding = this.codings.get(this.choice.choose(request.fields) ?? '');
    if (coding === undefined || !this.memory.has(coding.cost)) return null;
    head.fields = codedFields(head.fields, coding.name);
    head.length = UNTIL_CLOSE;
    return (next, source) => new EncodedStage(coding, this.memory.reserve(coding.cost), next, source);
  }

  explain(): string {
    const cookies = this.withCookies ? '' : ' and sets no cookie';
    return `a response that compresses well${cookies} is encoded as ${[...this.codings.keys()].join(', ')}, whichever the client accepts`;
  }
}

/** The block's own, or the site's if the block has none; null where nothing is encoded. */
export function encoderOf(route: RouteSpec, handle: HandleSpec | null): Encoder | null {
  const spec = handle?.encode ?? route.encode;
  return spec == null || spec.formats.length === 0 ? null : new Encoder(spec);
}
