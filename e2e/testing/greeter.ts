import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';

type Method = MethodDefinition<Buffer, Buffer>;
const asIs = (bytes: Buffer): Buffer => bytes;

/** A method with raw bytes as messages. */
const method = (name: string, requestStream: boolean, responseStream: boolean): Method => ({
  path: `/greeter.Greeter/${name}`,
  requestStream,
  responseStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});

/** One method of each kind, and some that fail. */
export const METHODS = {
  echo: method('Echo', false, false),
  fail: method('Fail', false, false),
  wait: method('Wait', false, false),
  count: method('Count', false, true),
  join: method('Join', true, false),
  chat: method('Chat', true, true),
};

/** A gRPC service behind the proxy. */
export class Greeter {
  readonly address: string;
  /** Number of cancelled calls of `wait`. */
  cancelled = 0;
  /** Number of started calls. */
  calls = 0;
  private readonly server: Server;

  private constructor(server: Server, port: number) {
    this.server = server;
    this.address = `127.0.0.1:${port}`;
  }

  static async start(credentials = ServerCredentials.createInsecure()): Promise<Greeter> {
    const server = new Server({ 'grpc.max_receive_message_length': 16_000_000 });
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error))),
    );
    const greeter = new Greeter(server, port);
    server.addService(METHODS, greeter.implementation());
    return greeter;
  }

  private implementation() {
    const began = (): void => void this.calls++;
    return {
      echo: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
        began();
        done(null, call.request);
      },
      fail: (_: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
        began();
        done({ code: status.NOT_FOUND, details: 'no such greeting: ü' });
      },
      wait: (call: ServerUnaryCall<Buffer, Buffer>) => {
        began();
        call.on('cancelled', () => this.cancelled++);
      },
      count: (call: ServerWritableStream<Buffer, Buffer>) => {
        began();
        for (let number = 1; number <= Number(call.request); number++) call.write(Buffer.from(`${number}`));
        if (Number(call.request) < 1_000) call.end();
      },
      join: (call: ServerReadableStream<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
        began();
        const parts: Buffer[] = [];
        call.on('data', (part: Buffer) => parts.push(part));
        call.on('end', () => done(null, Buffer.concat(parts)));
      },
      chat: (call: ServerDuplexStream<Buffer, Buffer>) => {
        began();
        call.on('data', (part: Buffer) => call.write(Buffer.concat([Buffer.from('re: '), part])));
        call.on('end', () => call.end());
      },
    };
  }

  /** Stops it with all calls in progress. */
  kill(): void {
    this.server.forceShutdown();
  }

  [Symbol.dispose](): void {
    this.kill();
  }
}

/** A client that connects through the proxy as `grpc.test`. */
export class GreeterClient {
  private readonly client: Client;

  constructor(address: string, credentials: ChannelCredentials, options: ClientOptions = {}) {
    this.client = new Client(address, credentials, {
      'grpc.default_authority': 'grpc.test',
      'grpc.max_receive_message_length': 16_000_000,
      'grpc.enable_retries': 0,
      ...options,
    });
  }

  unary({ path }: Method, message: string | Buffer, deadline?: Date): Promise<Buffer> {
    return new Promise((resolve, reject) =>
      this.client.makeUnaryRequest(path, asIs, asIs, Buffer.from(message), { ...(deadline && { deadline }) }, (error, answer) =>
        error === null ? resolve(answer ?? Buffer.alloc(0)) : reject(error),
      ),
    );
  }

  serverStream({ path }: Method, message: string) {
    return this.client.makeServerStreamRequest(path, asIs, asIs, Buffer.from(message));
  }

  /** Sends all messages. */
  clientStream({ path }: Method, messages: readonly string[]): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const call = this.client.makeClientStreamRequest(path, asIs, asIs, (error, answer) =>
        error === null ? resolve(answer ?? Buffer.alloc(0)) : reject(error),
      );
      for (const message of messages) call.write(Buffer.from(message));
      call.end();
    });
  }

  duplex({ path }: Method) {
    return this.client.makeBidiStreamRequest(path, asIs, asIs);
  }

  [Symbol.dispose](): void {
    this.client.close();
  }
}
