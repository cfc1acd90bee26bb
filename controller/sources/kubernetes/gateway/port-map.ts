/**
 * Maps the port of a listener to the port of the data plane at which its connections arrive. A process without root can't open every port.
 */
export type PortMap = ReadonlyMap<number, number>;

export const mapPort = (map: PortMap, port: number): number => map.get(port) ?? port;
