#include "command_order_fixture.h"

namespace cleave::remote::client::multi_server {

namespace {

// Never looked into.
Connection& unused_connection() { return *reinterpret_cast<Connection*>(std::uintptr_t{4096}); }

}  // namespace

OrderingFixture::OrderingFixture() {
  static const Table table{};
  static Object* const root = client.objects.begin(table, objects::Objects::Indexed::no)
                                  ? client.objects.make_root(Kind::device, nullptr, kMultiServerMark, nullptr)
                                  : nullptr;
  root_ = root;
  order_ = std::make_shared<CommandOrder>(std::vector<cl_command_queue>(2),
                                          [this](std::size_t shard) { return connected_[shard]; });
}

// What is still open would keep itself.
OrderingFixture::~OrderingFixture() {
  for (Object* const event : user_events_) set(*event, CL_COMPLETE);
  order_->take_decidable();
}

Object& OrderingFixture::make(Kind kind, std::unique_ptr<ObjectState> state) {
  Object& made = client.objects.publish(*client.objects.prepare(kind, *root_), state.get());
  states_.push_back(std::move(state));
  return made;
}

Object& OrderingFixture::make_queue() {
  return make(Kind::queue, std::make_unique<QueueState>(unused_connection(), 1));
}

Object& OrderingFixture::make_event(Object* queue) {
  auto state = std::make_unique<EventState>(unused_connection(), 1);
  state->queue = queue;
  Object& made = make(Kind::event, std::move(state));
  if (queue == nullptr) user_events_.push_back(&made);
  return made;
}

std::shared_ptr<CoherenceState> OrderingFixture::make_coherence() {
  auto coherence = std::make_shared<CoherenceState>();
  coherence->domain = order_;
  coherence->replicas.resize(2);
  for (CoherenceState::Replica& copy : coherence->replicas) {
    Object& memory = make(Kind::memory, std::make_unique<MemoryState>(unused_connection(), 1));
    copy.memory = objects::handle_of<cl_mem>(&memory);
  }
  return coherence;
}

OrderingFixture::TestCommand OrderingFixture::decide(std::size_t shard, Object& queue, const MemoryUses& uses,
                                                     const std::vector<Object*>& waits, bool in_order,
                                                     OrderedCommand::Kind kind) {
  TestCommand issued;
  issued.entry = std::make_shared<OrderedCommand>(queue);
  issued.entry->shard = shard;
  issued.entry->in_order = in_order;
  issued.entry->kind = kind;
  issued.entry->uses = uses;
  for (Object* const event : waits) issued.entry->waits.emplace_back(*event);
  issued.now = order_->submit(issued.entry, issued.dependencies);
  return issued;
}

void OrderingFixture::send(TestCommand& issued) {
  issued.event = &make_event(&*issued.entry->queue);
  issued.operation()->bind_event(*issued.event);
}

OrderingFixture::TestCommand OrderingFixture::issue(std::size_t shard, const MemoryUses& uses) {
  TestCommand issued = decide(shard, make_queue(), uses);
  send(issued);
  return issued;
}

void OrderingFixture::carry_out(const Migration& move, cl_int status) {
  if (status != CL_COMPLETE) invalidate_replica(*move.coherence, move.to, move.done);
  move.done->end(status);
}

}  // namespace cleave::remote::client::multi_server
