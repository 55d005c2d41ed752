#include "several.h"

namespace cleave::remote::client::spread {

namespace {

// Never looked into.
Connection& nowhere() { return *reinterpret_cast<Connection*>(std::uintptr_t{4096}); }

}  // namespace

Several::Several() {
  static const Table table{};
  static Object* const root = client.objects.begin(table, objects::Objects::Indexed::no)
                                  ? client.objects.make_root(Kind::device, nullptr, kMark, nullptr)
                                  : nullptr;
  root_ = root;
  ordering_ = std::make_shared<Ordering>(std::vector<cl_command_queue>(2),
                                         [this](std::size_t part) { return there_[part]; });
}

// What is still open would keep itself.
Several::~Several() {
  for (Object* const event : user_events_) set(*event, CL_COMPLETE);
  ordering_->settle();
}

Object& Several::make(Kind kind, std::unique_ptr<Body> body) {
  Object& made = client.objects.publish(*client.objects.prepare(kind, *root_), body.get());
  bodies_.push_back(std::move(body));
  return made;
}

Object& Several::make_queue() { return make(Kind::queue, std::make_unique<QueueBody>(nowhere(), 1)); }

Object& Several::make_event(Object* queue) {
  auto body = std::make_unique<EventBody>(nowhere(), 1);
  body->queue = queue;
  Object& made = make(Kind::event, std::move(body));
  if (queue == nullptr) user_events_.push_back(&made);
  return made;
}

std::shared_ptr<Contents> Several::make_contents() {
  auto contents = std::make_shared<Contents>();
  contents->ordering = ordering_;
  contents->copies.resize(2);
  for (Contents::Copy& copy : contents->copies) {
    Object& memory = make(Kind::memory, std::make_unique<MemoryBody>(nowhere(), 1));
    copy.memory = objects::handle_of<cl_mem>(&memory);
  }
  return contents;
}

Several::Issued Several::decide(std::size_t part, Object& queue, const Uses& uses,
                                const std::vector<Object*>& waits, bool in_order, Entry::Kind kind) {
  Issued issued;
  issued.entry = std::make_shared<Entry>(queue);
  issued.entry->part = part;
  issued.entry->in_order = in_order;
  issued.entry->kind = kind;
  issued.entry->uses = uses;
  for (Object* const event : waits) issued.entry->waits.emplace_back(*event);
  issued.now = ordering_->take(issued.entry, issued.needs);
  return issued;
}

void Several::send(Issued& issued) {
  issued.event = &make_event(&*issued.entry->queue);
  issued.step()->follow(*issued.event);
}

Several::Issued Several::issue(std::size_t part, const Uses& uses) {
  Issued issued = decide(part, make_queue(), uses);
  send(issued);
  return issued;
}

void Several::carry_out(const Move& move, cl_int status) {
  if (status != CL_COMPLETE) forget_copy(*move.contents, move.to, move.done);
  move.done->end(status);
}

}  // namespace cleave::remote::client::spread
